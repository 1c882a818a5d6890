"""What kustomize and helm make of the manifests, as objects by kind and name."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.deploy.tools import helm
from tidegate.cluster.go.building import NEWEST
from tidegate.cluster.install import read_documents
from tidegate.errors import NotSupportedError
from tidegate.generate.install import find_kustomize, run_kustomize

DEPLOY = Path(__file__).parents[2] / "deploy"
Object = dict[str, Any]
Objects = dict[tuple[str, str], Object]


def need_kustomize() -> None:
    """Skip the test if there is nothing to render with."""
    if not find_kustomize():
        pytest.skip(
            "Neither kustomize nor kubectl is on the PATH to render the overlays: install one of "
            "them (https://kubernetes.io/docs/tasks/tools)."
        )


def overlay(name: str) -> Objects:
    """Return what kustomize makes of an overlay; skip the test if there is none."""
    need_kustomize()
    try:
        return by_name(read_documents(_kustomized(name)))
    except NotSupportedError as error:
        pytest.fail(str(error))


@cache
def _kustomized(name: str) -> str:
    return run_kustomize(DEPLOY / "overlays" / name)


def installed() -> Objects:
    """Return what the one-file installation holds."""
    return by_name(read_documents((DEPLOY / "install.yaml").read_text()))


def registered() -> list[Object]:
    """Return the APIServices that ``tidegate guard`` registers, as the component has them."""
    (held,) = read_documents((DEPLOY / "components/visibility/services.yaml").read_text())
    return list(read_documents(held["data"]["services.yaml"]))


def chart(
    *settings: str, namespace: str = "tidegate-system", kubernetes: str = NEWEST.version
) -> Objects:
    """Return what helm makes of the chart; skip the test if there is no helm."""
    done = template(*settings, namespace=namespace, kubernetes=kubernetes)
    return by_name(read_documents(done.stdout))


def template(
    *settings: str,
    namespace: str = "tidegate-system",
    check: bool = True,
    kubernetes: str = NEWEST.version,
    option: str = "",
) -> subprocess.CompletedProcess[str]:
    """Run ``helm template`` for a version of Kubernetes with ``--set`` for each setting.

    With the option ``file`` each setting is ``--set-file``.
    """
    command = [helm(), "template", "tidegate", str(DEPLOY / "chart"), "--namespace", namespace]
    given = f"--set-{option}" if option else "--set"
    command += ["--kube-version", kubernetes, *(f"{given}={setting}" for setting in settings)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert not check or done.returncode == 0, done.stderr
    return done


def by_name(documents: Iterable[Object | None]) -> Objects:
    """Return objects by kind and name; each stands there once."""
    listed = [document for document in documents if document]
    mapping = {(obj["kind"], obj["metadata"]["name"]): obj for obj in listed}
    assert len(mapping) == len(listed)
    return mapping


def pods(objects: Objects) -> Iterator[tuple[str, Object]]:
    """Yield the pod templates by the name of what makes the pods."""
    for (kind, name), obj in objects.items():
        if kind in {"Deployment", "StatefulSet"}:
            yield name, obj["spec"]["template"]

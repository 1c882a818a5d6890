"""Every form of installation is taken by a real API server from ``kubectl apply --server-side``.

kubectl validates strictly, and a warning fails too. One form is applied over the other, as upgrades
are. On a Kubernetes before 1.36 (TIDEGATE_TEST_KUBERNETES) it is the forms with the webhook.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from os.path import relpath
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from tests.deploy.rendering import DEPLOY, installed, need_kustomize, template
from tests.parts.kubernetes import release_of_tests
from tidegate.cli.commands.manifests import manifests_of_file
from tidegate.cluster.go.building import NEWEST
from tidegate.cluster.install import read_documents
from tidegate.generate.documents import as_yaml
from tidegate.generate.install import run_kustomize
from tidegate.jobs.registry import JOB_KINDS
from tidegate.kinds.policies.forms import Manifest
from tidegate.kinds.policies.webhooks import with_webhook

pytestmark = [pytest.mark.real, pytest.mark.slow, pytest.mark.timeout(1_200)]
APPLY = ("apply", "--server-side", "--filename", "-")
COMPONENTS = {
    "dispatcher": ("dispatcher.enabled=true", "configuration.multiKueue.gcInterval=1m"),
    "serve": ("serve.enabled=true",),
    "visibility": ("serve.enabled=true", "serve.visibility=true"),
    "maintenance": ("maintenance.enabled=true",),
    "prometheus": ("serviceMonitor=true", "prometheusRule=true"),
    "webhook": ("admission=webhook",),
}
"""The components beside the overlays, and the values of the chart that stand for each."""
NEEDS = {"visibility": ("serve",)}
FRAMEWORKS = tuple(name for name in JOB_KINDS if name not in {"pod-group", "workload"})
Fitted = Callable[[Sequence[Manifest]], list[Manifest]]
GATES = {"SparkApplicationIntegration": True}
HEAD = {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration"}


class Form(NamedTuple):
    """One form of installation."""

    name: str
    render: Callable[[Path], str]  # gets a folder of its own
    webhook: bool = False  # it needs no mutating policies


def composed(overlay: str, components: tuple[str, ...], folder: Path) -> str:
    """Return what kustomize makes of an overlay with components."""
    need_kustomize()
    places = [relpath(DEPLOY / text, folder.resolve()) for text in (overlay, *components)]
    listed = {"resources": places[:1], "components": places[1:]}
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(listed))
    return run_kustomize(folder)


def charted(settings: tuple[str, ...], folder: Path) -> str:
    assert folder.is_dir()
    return template(*settings, kubernetes=release_of_tests().version).stdout


def printed(frameworks: tuple[str, ...], fitted: Fitted, folder: Path) -> str:
    """Return what ``tidegate manifests`` prints."""
    config = folder / "configuration.yaml"
    kinds = {"integrations": {"frameworks": list(frameworks)}}
    config.write_text(yaml.safe_dump({**HEAD, **kinds, "featureGates": GATES}))
    return as_yaml(fitted(manifests_of_file(str(config))))


def forms() -> list[Form]:
    """Return all of them; of an older Kubernetes those that it can take."""
    made = [
        Form("one-file", lambda _: (DEPLOY / "install.yaml").read_text()),
        Form("worker", partial(composed, "worker", ()), webhook=True),
        *overlay_forms(),
        *chart_forms(),
        *printed_forms(),
    ]
    return [form for form in made if form.webhook or release_of_tests() is NEWEST]


def overlay_forms() -> Iterator[Form]:
    for overlay in ("base", "overlays/embedded", "overlays/production"):
        yield Form(overlay, partial(composed, overlay, ()))
        both = partial(composed, overlay, ("components/webhook",))
        yield Form(f"{overlay}-webhook", both, webhook=True)
    for name in COMPONENTS:
        needed = tuple(f"components/{component}" for component in (*NEEDS.get(name, ()), name))
        both = partial(composed, "overlays/production", needed)
        yield Form(f"overlay-{name}", both, webhook=name == "webhook")
    every = tuple(f"components/{name}" for name in COMPONENTS)
    yield Form("overlay-all", partial(composed, "overlays/production", every), webhook=True)


def chart_forms() -> Iterator[Form]:
    for mode in ("embedded", "production"):
        yield Form(f"chart-{mode}", partial(charted, (f"mode={mode}",)), webhook=True)
    every = tuple(setting for settings in COMPONENTS.values() for setting in settings)
    for name, settings in (*COMPONENTS.items(), ("all", every)):
        yield Form(f"chart-{name}", partial(charted, ("mode=production", *settings)), webhook=True)


def printed_forms() -> Iterator[Form]:
    for name, frameworks in (("batch-job", FRAMEWORKS[:1]), ("every-kind", FRAMEWORKS)):
        yield Form(f"manifests-{name}", partial(printed, frameworks, list))
        asked = partial(printed, frameworks, with_webhook)
        yield Form(f"manifests-{name}-webhook", asked, webhook=True)


@pytest.mark.usefixtures("admin")
@pytest.mark.parametrize("form", forms(), ids=lambda form: form.name)
async def test_kubectl_applies_it_on_the_server_s_side(
    own_api: str, form: Form, tmp_path: Path
) -> None:
    documents = list(read_documents(form.render(tmp_path)))
    assert documents
    namespace = installed()["Namespace", "tidegate-system"]
    applied = await kubectl(own_api, as_yaml([namespace, *documents]))
    assert applied == len(documents) + 1


async def kubectl(kubeconfig: str, text: str) -> int:
    """Apply a text; return how many objects it says that it applied."""
    program = shutil.which("kubectl")
    if program is None:
        pytest.skip(
            "kubectl is missing to apply with: install it (https://kubernetes.io/docs/tasks/tools)."
        )
    process = await asyncio.create_subprocess_exec(
        program,
        *APPLY,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "KUBECONFIG": kubeconfig},
    )
    data, wrong = await process.communicate(text.encode())
    assert (process.returncode, wrong.decode()) == (0, "")
    lines = data.decode().splitlines()
    assert all(line.endswith(" serverside-applied") for line in lines), lines
    return len(lines)

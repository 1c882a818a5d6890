"""A real API server takes everything that is rendered, with no field that it does not know."""

from __future__ import annotations

import pytest

from tests.deploy.applying import apply_all, try_pod
from tests.deploy.rendering import Objects, chart, installed, overlay, pods
from tidegate.kube.client import KubernetesClient

pytestmark = pytest.mark.real


async def _taken(admin: KubernetesClient, objects: Objects) -> None:
    await apply_all(admin, objects)
    await apply_all(admin, objects)  # as an upgrade does
    for _, pod in pods(objects):
        await try_pod(admin, "tidegate-system", pod)


async def test_the_one_file_is_taken(admin: KubernetesClient) -> None:
    await _taken(admin, installed())


async def test_the_overlay_for_production_is_taken(admin: KubernetesClient) -> None:
    await _taken(admin, overlay("production"))


async def test_a_pod_that_may_more_is_refused_in_the_namespace(admin: KubernetesClient) -> None:
    objects = overlay("production")
    await apply_all(admin, objects)
    ((_, pod), *_) = pods(objects)
    del pod["spec"]["securityContext"]["runAsNonRoot"]
    with pytest.raises(AssertionError, match="PodSecurity"):
        await try_pod(admin, "tidegate-system", pod)


@pytest.mark.slow
@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("mode", ["embedded", "production"])
async def test_the_chart_is_taken(admin: KubernetesClient, mode: str) -> None:
    await apply_all(admin, {("Namespace", "tidegate-system"): _namespace()})
    settings = (f"mode={mode}", "serviceMonitor=true", "prometheusRule=true")
    await _taken(admin, chart(*settings))


def _namespace() -> dict[str, object]:
    return dict(installed()["Namespace", "tidegate-system"])

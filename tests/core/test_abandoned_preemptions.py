"""A preemptor that waits for its victim gives up what it was promised once that holds no more."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pytest
from msgspec.structs import replace

from tests.core.revoking import PREEMPTS, TRUSTED, Scene
from tests.core.telling import flavor
from tests.core.test_admissibility import intended, stop_the_victim
from tidegate.contracts.observations import Observation

__all__ = ["intended"]
Told: TypeAlias = "Callable[[Scene], list[Observation]]"


def another_queue(scene: Scene) -> list[Observation]:
    """Return a second ClusterQueue, to which the LocalQueue leads from now on."""
    fields = {"cpu": 4, "preemption": PREEMPTS}
    return [scene.stage.cluster_queue("second", fields), *scene.local(cluster_queue="second")]


def another_flavor(scene: Scene) -> list[Observation]:
    """Return the ClusterQueue with quota of another flavor in place of its own."""
    fields = {"cpu": {"other": 4}, "preemption": PREEMPTS, "namespace_selector": TRUSTED}
    other = flavor("other", uid="rf-other", version=scene.version())
    return [other, scene.stage.cluster_queue("cq", fields)]


def podsets(scene: Scene, **value: object) -> list[Observation]:
    """Return the preemptor with something otherwise in its podset."""
    changed = (replace(podset, **value) for podset in scene.stage.jobs["big"].podsets)
    return scene.big(podsets=tuple(changed))


CASES: dict[str, tuple[Told, str, str]] = {
    "its LocalQueue leads elsewhere": (
        another_queue,
        "its LocalQueue leads to another ClusterQueue",
        "QuotaReserved big any x1",
    ),
    "its flavor is gone": (another_flavor, "flavor any is no more", "QuotaReserved big other x1"),
    "another name of its podset": (
        lambda s: podsets(s, name="driver"),
        "the workload changed",
        "QuotaReserved big any x1",
    ),
    "more pods than there is quota for": (
        lambda s: podsets(s, count=2),
        "the workload changed",
        "",
    ),
    "its pods cost more": (lambda s: s.overhead("1"), "podset main is charged otherwise", ""),
    "less quota": (lambda s: s.queue(cpu=1), "quota changed", ""),
}


@pytest.mark.parametrize(("do", "reason", "then"), CASES.values(), ids=CASES.keys())
def test_the_reason_is_what_changed(intended: Scene, do: Told, reason: str, then: str) -> None:
    stage = intended.stage
    stage.turn(*do(intended))
    stop_the_victim(intended)
    assert f"PreemptionAbandoned big {reason}" in stage.decided
    reserved = [line for line in stage.decided if line.startswith("QuotaReserved big")]
    assert reserved == ([then] if then else [])

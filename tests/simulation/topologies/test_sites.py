"""Whatever happens to nodes and services, no node is overfilled and each pod goes to its own."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from unittest.mock import patch

import pytest

from actuator.ungating.domains import PodSetPlacement, Values
from tests.simulation.topologies.__main__ import live
from tests.simulation.topologies.site import JOBS_MAX, Site
from tidegate.kinds.pods import Pod

BUSY = 410
"""A seed in whose world many nodes fail under a workload's pods."""
SEEDS = [0, BUSY, *(pytest.param(number, marks=pytest.mark.slow) for number in range(1, 40))]


@cache
def lived(seed: int) -> Site:
    """Return a world that came to rest; tests share it."""
    return live(seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_node_is_overfilled_and_each_pod_goes_to_its_own_whatever_happens(seed: int) -> None:
    site = lived(seed)
    assert site.places.placed >= JOBS_MAX // 2
    assert site.let_go > 0


def test_services_die_and_nodes_are_replaced_in_such_a_world() -> None:
    site = lived(BUSY)
    assert site.deaths > 0
    assert site.places.replaced > 0


def choose_the_first(pods: Sequence[Pod], place: PodSetPlacement, *_: object) -> dict[str, Values]:
    waiting = [pod for pod in pods if pod.spec.scheduling_gates]
    return {pod.metadata.name: place.domains[0].values for pod in waiting}


def test_the_judge_notices_pods_that_are_sent_elsewhere() -> None:
    bug = patch("actuator.ungating.topology.choose_domains", choose_the_first)
    with bug, pytest.raises(AssertionError, match="are let go to"):
        live(0)

"""In a cycle of a tree, heads that borrow nothing from the rest of it go first: docs/adr/0031."""

from __future__ import annotations

import pytest

from tests.core.test_cycle_rules import arrive, cohort, running
from tidegate.contracts.decisions import QuotaReserved, WorkloadPending
from tidegate.core.cycle import cycle
from tidegate.core.cycle.process import process_entry
from tidegate.core.decide import decide
from tidegate.core.nomination.decide_context import DecideContext
from tidegate.core.nomination.nominate import Nominee


@pytest.mark.parametrize("fair", [False, True])
def test_a_cycle_with_a_local_head_does_not_look_at_queues_whose_quota_is_in_use(
    fair: bool,  # noqa: FBT001
) -> None:
    cluster = cohort(fair=fair, queues=3)
    arrive(cluster, "fills", 1, 20)
    assert cluster.decide(100)
    arrive(cluster, "too large", 1, 90, priority=9)
    arrive(cluster, "owns", 0, 10)
    first = decide(cluster.state, cycles_max=1)
    assert [event.workload for event in first if isinstance(event, QuotaReserved)] == ["bench/owns"]
    assert not any(isinstance(event, WorkloadPending) for event in first)
    rest = decide(cluster.state)
    pending = [event.workload for event in rest if isinstance(event, WorkloadPending)]
    assert pending == ["bench/too large"]


def test_a_local_head_that_cannot_act_after_all_holds_up_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def process_others(context: DecideContext, nominee: Nominee) -> None:
        if nominee.workload.key != "bench/owns":
            process_entry(context, nominee)

    monkeypatch.setattr(cycle, "process_entry", process_others)
    cluster = cohort(queues=3)
    arrive(cluster, "borrows", 1, 30, priority=9)
    arrive(cluster, "owns", 0, 10)
    assert cluster.decide(100)
    assert running(cluster) == {"borrows"}

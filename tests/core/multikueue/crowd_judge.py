"""What must hold of several workloads of one object among clusters, at each step and at the end.

Source: multikueue.md 6, by the numbers in the messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tests.core.multikueue.stage import CHECK
from tidegate.contracts.decisions import DecisionEvent, QuotaReleased
from tidegate.contracts.facts import FactEvent
from tidegate.contracts.phases import SLICE_REPLACED
from tidegate.core.state.remotes import Dispatch
from tidegate.core.state.state import Workload

if TYPE_CHECKING:
    from tests.core.multikueue.crowd import Crowd

_QUOTA, _HOLDING = ("reserved", "admitted"), ("reserved", "admitted", "evicting")


class CrowdJudge:
    """Looks at a crowd."""

    def __init__(self, crowd: Crowd) -> None:
        self._of = crowd

    def look(self, events: Sequence[FactEvent | DecisionEvent]) -> None:
        """Judge what was decided, and how everything stands now.

        Raises:
            AssertionError: something does not hold.
        """
        for event in events:
            if isinstance(event, QuotaReleased) and event.reason != SLICE_REPLACED:
                self._is_given_back(event.workload)
        for workload in self._of.workloads.values():
            self._stands(workload)
        self._one_cluster_has_the_object()
        self._quota_is_kept()

    def is_over(self) -> bool:
        """Tell whether all is finished or deleted, and nothing is left on any cluster."""
        if any(remote.copies or remote.job for remote in self._of.remotes.values()):
            return False
        over = all(workload.phase == "finished" for workload in self._of.workloads.values())
        return over and not any(target.leaving for target in self._of.targets.of.values())

    def _is_given_back(self, key: str) -> None:
        """Tell what holds of quota that is free: of an elastic job, that the job is nowhere."""
        for remote in self._of.remotes.values():
            has = remote.job if self._of.elastic else key in remote.copies
            assert not (has and remote.connected), f"quota of {key} is free, and {remote.name} runs"

    def _stands(self, workload: Workload) -> None:
        sent, key = workload.dispatch or Dispatch(), workload.key
        assert not (sent.chosen and sent.nominated), f"5: {key} is chosen and nominated"
        if workload.phase not in _HOLDING:
            assert not sent.nominated, f"8: without quota here no cluster is nominated for {key}"
            assert not sent.chosen or workload.phase == "finished", f"and no cluster runs {key}"
        check_state = workload.checks.get(CHECK)
        if check_state is not None and check_state.state == "Ready" and workload.phase in _QUOTA:
            assert sent.chosen, f"6: the check of {key} is Ready with a chosen cluster"

    def _one_cluster_has_the_object(self) -> None:
        """Tell those apart that are lost, or have it to give back."""
        sent = [
            workload.dispatch
            for workload in self._of.workloads.values()
            if workload.dispatch is not None
        ]
        targets = self._of.targets.of.values()
        kept = {dispatch.chosen for dispatch in sent} | {target.chosen for target in targets}
        leaving = {name for dispatch in sent for name in dispatch.leaving}
        leaving |= {name for target in targets for name in target.leaving}
        having = [
            remote.name
            for remote in self._of.remotes.values()
            if remote.job and remote.connected and remote.name not in leaving - kept
        ]
        assert len(having) <= 1, f"1: {having} have the object"

    def _quota_is_kept(self) -> None:
        charges = [sum(dict(workload.charges).values()) for workload in self._of.workloads.values()]
        assert sum(charges) <= 4_000, f"{charges} are charged, and there are four CPUs"
        holds = [
            workload.key for workload in self._of.workloads.values() if workload.phase == "admitted"
        ]
        assert not self._of.elastic or len(holds) <= 1, f"{holds} are one job"

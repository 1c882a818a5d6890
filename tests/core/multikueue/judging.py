"""What must hold of a workload among clusters, after every step and at the end.

Source: multikueue.md 6, by the numbers in the names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tests.core.multikueue.stage import CHECK, WORKLOAD
from tests.core.telling import SECOND
from tidegate.contracts.decision_kinds.clusters import (
    CheckDecided,
    ClusterChosen,
    ClustersNominated,
)
from tidegate.contracts.decisions import DecisionEvent, QuotaReleased, QuotaReserved
from tidegate.contracts.facts import FactEvent
from tidegate.core.state.remotes import Dispatch

if TYPE_CHECKING:
    from tests.core.multikueue.ordeal import Ordeal

HOLDING = ("reserved", "admitted", "evicting")


class Judge:
    """Looks at an ordeal."""

    def __init__(self, ordeal: Ordeal) -> None:
        self._of = ordeal
        self._nominated = set[str]()  # since quota was reserved last
        self._foreign = dict[str, bool]()
        self._finished = False

    def look(self, events: Sequence[FactEvent | DecisionEvent]) -> None:
        """Judge what was decided, and how everything stands now.

        Raises:
            AssertionError: something does not hold.
        """
        for event in events:
            self._decided(event)
        self._one_worker_has_the_job()
        self._foreign_jobs_stay()
        workload = self._of.workload
        if workload is None:
            return
        assert not self._finished or workload.phase == "finished", "what is finished stays so"
        self._finished = workload.phase == "finished"
        sent = workload.dispatch or Dispatch()
        assert not (sent.chosen and sent.nominated), "5: chosen and nominated exclude each other"
        if workload.phase not in HOLDING:
            assert not sent.nominated, "8: without quota here no cluster is nominated"
            assert not sent.chosen or workload.phase == "finished", "and no cluster runs it"
        check_state = workload.checks.get(CHECK)
        if (
            check_state is not None
            and check_state.state == "Ready"
            and workload.phase in HOLDING[:2]
        ):
            assert sent.chosen, "6: a check is Ready with a chosen cluster"

    def is_over(self) -> bool:
        """Tell whether it is finished or deleted, and nothing of it is left on any cluster."""
        workload, remotes = self._of.workload, self._of.remotes.values()
        if any(remote.there or remote.job for remote in remotes):
            return False
        return workload is None or (workload.phase == "finished" and not self._leaves())

    def _decided(self, event: FactEvent | DecisionEvent) -> None:
        match event:
            case QuotaReserved():
                self._nominated = set()
            case ClustersNominated():
                self._newly_nominated(event)
            case ClusterChosen():
                assert event.cluster in self._nominated, "5: a chosen cluster was nominated before"
            case CheckDecided(state="Retry") if "lost" in event.message:
                self._given_up(event)
            case QuotaReleased():
                left = [
                    remote.name
                    for remote in self._of.remotes.values()
                    if remote.job and remote.connected
                ]
                assert not left, f"quota is free, and the job is on {left}"
            case _:
                pass

    def _newly_nominated(self, event: ClustersNominated) -> None:
        new = set(event.clusters) - self._nominated
        clusters = self._of.stage.bus.state.objects.multikueue_clusters
        held = [name for name in new if clusters[name].stop_policy != "None"]
        assert event.again or not held, f"{held} are held and nominated"
        self._nominated |= set(event.clusters)

    def _given_up(self, event: CheckDecided) -> None:
        reached = self._of.stage.bus.state.remote_clusters
        away = [
            remote_cluster.lost_us for remote_cluster in reached.values() if remote_cluster.lost_us
        ]
        patience_us = 60 * SECOND
        assert away, "7: a cluster is lost"
        assert event.at_us >= min(away) + patience_us, "7: its grace counts from the loss"

    def _one_worker_has_the_job(self) -> None:
        """Tell those apart that are lost, or have it to give back."""
        leaving = self._leaves()
        having = [
            name
            for name, remote in self._of.remotes.items()
            if remote.job and remote.connected and name not in leaving
        ]
        assert len(having) <= 1, f"1: {having} have the job"

    def _leaves(self) -> dict[str, None]:
        workload, target = self._of.workload, self._of.targets.of.get(WORKLOAD)
        known = {} if workload is None or workload.dispatch is None else workload.dispatch.leaving
        return {**known, **dict.fromkeys(() if target is None else target.leaving)}

    def _foreign_jobs_stay(self) -> None:
        for remote in self._of.remotes.values():
            assert not (remote.foreign and remote.job), "3: nothing is made beside others' jobs"

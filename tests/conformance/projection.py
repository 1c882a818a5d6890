"""Decisions of a run as Kueue writes them: conditions, statistics and Kubernetes Events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from actuator.projection.k8s_events import refused_status_text
from tests.conformance.cases import Json
from tests.conformance.histories import conditions, key
from tidegate.contracts.decision_kinds.placements import SecondPassFailed, TopologyAssigned
from tidegate.contracts.decisions import (
    DecisionEvent,
    QuotaReleased,
    QuotaReserved,
    WorkloadAdmitted,
    WorkloadEvicted,
    WorkloadPending,
    WorkloadPreempted,
)

SLICE_REPLACED = "WorkloadSliceReplaced"
_RESET_BY_RESERVATION = ("Evicted", "Preempted", "BlockedOnPreemptionGates")


class Projection:
    """What a run has made of each workload's status, and the Events it was told by."""

    def __init__(self, workloads: Iterable[Json]) -> None:
        self.conditions: dict[str, dict[str, tuple[str, str]]] = {}  # workload, type: status,reason
        self.events: Counter[tuple[str, str, str]] = Counter()  # object, type, reason
        self.evictions: dict[str, Counter[tuple[str, str]]] = {}  # workload: reason, cause
        self.evaluated: set[str] = set()
        self.reserved: list[str] = []
        self.admitted: list[str] = []
        self.preempted: dict[str, str] = {}
        self.evicted: dict[str, str] = {}
        self.replaced: set[str] = set()
        self._gated = {
            key(workload) for workload in workloads if workload["spec"].get("preemptionGates")
        }
        for workload in workloads:
            mapping = conditions(workload)
            self.conditions[key(workload)] = {
                name: (fields["status"], fields.get("reason", ""))
                for name, fields in mapping.items()
            }

    def see(self, decisions: Iterable[DecisionEvent]) -> None:
        """Project decisions in order."""
        for decision in decisions:
            self._see_one(decision)

    def see_refused(self, decisions: Iterable[DecisionEvent], status: int) -> None:
        """Project decisions that an API server refused to show, with this HTTP status."""
        for decision in decisions:
            if isinstance(decision, WorkloadEvicted) and (
                row := refused_status_text(decision, status)
            ):
                self._tell(decision.workload, *row[:2])

    def forget(self, workload: str) -> None:
        """Drop what an object that was deleted had."""
        self.conditions.pop(workload, None)
        self.preempted.pop(workload, None)
        self.evicted.pop(workload, None)

    def _see_one(self, decision: DecisionEvent) -> None:
        match decision:
            case QuotaReserved():
                self._reserve(decision.workload)
            case WorkloadAdmitted():
                self.admitted.append(decision.workload)
                self._set(decision.workload, "Admitted", "True", "Admitted")
                self._tell(decision.workload, "Normal", "Admitted")
            case WorkloadPending():
                self._hold(decision.workload, decision.reason)
            case WorkloadPreempted():
                self.preempted[decision.workload] = decision.reason
                self._set(decision.workload, "Preempted", "True", decision.reason)
                self._tell(decision.workload, "Normal", "Preempted")
                self._tell(decision.by, "Normal", "PreemptedWorkload")
            case WorkloadEvicted():
                self._evict(decision)
            case QuotaReleased(reason="WorkloadSliceReplaced"):
                self.replaced.add(decision.workload)
                self._set(decision.workload, "Finished", "True", SLICE_REPLACED)
                self._tell(decision.workload, "Normal", SLICE_REPLACED)
            case TopologyAssigned() | SecondPassFailed():
                self._place(decision)
            case _:
                pass  # the others tell the actuator or close what these began

    def _place(self, decision: TopologyAssigned | SecondPassFailed) -> None:
        if isinstance(decision, SecondPassFailed):
            self._tell(decision.workload, "Warning", "SecondPassFailed")
            return
        self._set(decision.workload, "QuotaReserved", "True", "QuotaReserved")
        if self.conditions[decision.workload].get("Admitted", ("",))[0] == "True":
            self._set(decision.workload, "Admitted", "True", "Admitted")

    def _reserve(self, workload: str) -> None:
        self.reserved.append(workload)
        self._set(workload, "QuotaReserved", "True", "QuotaReserved")
        self._set(workload, "Admitted", "False", "UnsatisfiedAdmissionChecks")  # until it is
        for name in _RESET_BY_RESERVATION:
            if name in self.conditions.get(workload, {}):
                self._set(workload, name, "False", "QuotaReserved")
        self._tell(workload, "Normal", "QuotaReserved")

    def _hold(self, workload: str, reason: str) -> None:
        self.evaluated.add(workload)
        self._set(workload, "QuotaReserved", "False", reason)
        self._set(workload, "Admitted", "False", "NoReservation")
        if reason == "AdmissionGated" and workload in self._gated:
            self._set(workload, "BlockedOnPreemptionGates", "True", "PreemptionGated")
        self._tell(workload, "Warning", reason)

    def _evict(self, decision: WorkloadEvicted) -> None:
        self.evicted[decision.workload] = decision.reason
        self._set(decision.workload, "Evicted", "True", decision.reason)
        counts = self.evictions.setdefault(decision.workload, Counter())
        counts[decision.reason, decision.cause] += 1
        self._tell(decision.workload, "Normal", f"EvictedDueTo{decision.reason}")

    def _set(self, workload: str, condition: str, status: str, reason: str) -> None:
        self.conditions.setdefault(workload, {})[condition] = (status, reason)

    def _tell(self, workload: str, kind: str, reason: str) -> None:
        self.events[workload, kind, reason] += 1

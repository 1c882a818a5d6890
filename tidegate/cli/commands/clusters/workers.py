"""Worker clusters as the ledger has them: whether each answers, and what of whose is there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec

from tidegate.contracts.fact_kinds.clusters import (
    MultiKueueClusterDefined,
    MultiKueueClusterRemoved,
    RemoteClusterChanged,
)
from tidegate.contracts.facts import FactEvent
from tidegate.core.multikueue.withdrawal import worker_lost_us
from tidegate.core.state.state import State
from tidegate.model.quota import StopPolicy

Standing = Literal["Connected", "Lost", "Unknown", "Heard", "Silent", "Replaced", "NotListed"]
"""Of workers: Connected, Lost, or Unknown without a dispatcher's report; see also ``members``."""


class Worker(msgspec.Struct, frozen=True, kw_only=True):
    """One worker or member cluster; times in UTC microseconds, 0: none."""

    kind: Literal["worker", "member"] = "worker"
    name: str
    standing: Standing
    stop_policy: StopPolicy = "None"
    reason: str = ""  # of its condition Active
    message: str = ""
    lost_us: int = 0
    patience_us: int = 0  # how long it may be lost before what runs there is sent elsewhere
    configs: tuple[str, ...] = ()  # MultiKueueConfigs that name it
    checks: tuple[str, ...] = ()  # AdmissionChecks that may use it
    running: tuple[str, ...] = ()  # workloads that it was chosen for
    asked: tuple[str, ...] = ()  # workloads that have a copy there and no cluster yet
    leaving: tuple[str, ...] = ()  # workloads that are being withdrawn from it
    flavors: tuple[str, ...] = ()  # ResourceFlavors that exist in a member cluster
    listed: bool = True  # a member's jobs were all listed once
    uid: str = ""  # of a member's Namespace kube-system

    @property
    def given_up_us(self) -> int:
        """Return when its workloads are sent elsewhere; 0: it answers, or has none."""
        return self.lost_us + self.patience_us if self.lost_us and self.running else 0


def worker_clusters(state: State) -> list[Worker]:
    """Return all worker clusters by name, deleted ones that still have workloads included."""
    busy = {
        cluster
        for workload in state.workloads.values()
        if (dispatch := workload.dispatch) is not None
        for cluster in (*dispatch.nominated, *filter(None, [dispatch.chosen]), *dispatch.leaving)
    }
    return [
        _worker_cluster(state, name) for name in sorted({*state.objects.multikueue_clusters, *busy})
    ]


def _worker_cluster(state: State, name: str) -> Worker:
    objects, reached = state.objects, state.remote_clusters.get(name)
    defined = objects.multikueue_clusters.get(name)
    configs = tuple(
        key for key, config in sorted(objects.multikueue_configs.items()) if name in config.clusters
    )
    checks = tuple(
        key
        for key, check in sorted(objects.checks.items())
        if check.parameters is not None and check.parameters.name in configs
    )
    workloads = _workloads_by_state(state, name)
    standing: Standing = "Unknown"
    if reached is not None:
        standing = "Connected" if reached.connected else "Lost"
    return Worker(
        name=name,
        standing=standing,
        stop_policy="None" if defined is None else defined.stop_policy,
        reason="" if reached is None else reached.reason,
        message="" if reached is None else reached.message,
        lost_us=0 if reached is None else reached.lost_us,
        patience_us=worker_lost_us(state),
        configs=configs,
        checks=checks,
        running=workloads["running"],
        asked=workloads["asked"],
        leaving=workloads["leaving"],
    )


def _workloads_by_state(state: State, name: str) -> dict[str, tuple[str, ...]]:
    by_state: dict[str, list[str]] = {"running": [], "asked": [], "leaving": []}
    for key, workload in state.workloads.items():
        dispatch = workload.dispatch
        if dispatch is None:
            continue
        if dispatch.chosen == name and workload.phase != "finished":
            by_state["running"].append(key)
        if name in dispatch.nominated:
            by_state["asked"].append(key)
        if name in dispatch.leaving:
            by_state["leaving"].append(key)
    return {field: tuple(sorted(keys)) for field, keys in by_state.items()}


def worker_sentences(worker: Worker, utc: str) -> Iterator[str]:
    """Yield why a cluster gets workloads or none; ``utc`` is when its own are given up, as text."""
    why = f": {worker.reason}: {worker.message}" if worker.message else ""
    yield _STANDINGS[worker.standing].format(why=why)
    if worker.stop_policy != "None":
        yield _STOPPED[worker.stop_policy]
    if not worker.configs:
        yield "No MultiKueueConfig names it, so nothing is sent there."
    elif not worker.checks:
        yield "No AdmissionCheck uses a MultiKueueConfig that names it, so nothing is sent there."
    if worker.given_up_us:
        yield f"Its workloads keep their quota; what runs there is sent elsewhere from {utc} on."


_STANDINGS: dict[str, str] = {
    "Connected": "It answers.",
    "Lost": "It does not answer{why}.",
    "Unknown": "No dispatcher has reached it yet: is one running?",
}
_STOPPED: dict[StopPolicy, str] = {
    "Hold": "It is held: it gets nothing new, and what runs there goes on.",
    "HoldAndDrain": "It is drained: what runs there is stopped and sent to another cluster.",
}


def change_text(event: FactEvent) -> str:
    """Return a few words about a worker cluster from a fact; empty: none."""
    match event:
        case RemoteClusterChanged(connected=True):
            return "connected"
        case RemoteClusterChanged():
            return f"lost: {event.reason}: {event.message}" if event.message else "lost"
        case MultiKueueClusterDefined():
            return f"defined, stop policy {event.stop_policy}"
        case MultiKueueClusterRemoved():
            return "removed"
        case _:
            return ""

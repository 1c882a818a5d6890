"""A judge that watches Jobs and pods as they truly are, and objects to what must never be.

It sits at the API server's state, misses nothing, and knows which client acted. Of the ledger it
knows which workloads hold quota (``ledger_watch``), never why.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from apiserver.state import Change
from tests.simulation.cluster import (
    COHORT,
    HOSTILE,
    NOMINAL_MILLI,
    QUEUE_LABEL,
    ROOTED,
    Cluster,
    milli,
)
from tests.simulation.judging.ledger_watch import LedgerWatch
from tests.simulation.judging.verdict import demand
from tidegate.contracts.decisions import StartOrdered, StopOrdered

Object = dict[str, Any]
DECISION = "tidegate.dev/decision"
PREBUILT = "kueue.x-k8s.io/prebuilt-workload-name"
UNADMITTED_S_MAX = 20.0
"""The repair time, and what an observation, a turn and a patch take."""


class Observer:
    """Watches one cluster."""

    def __init__(self, cluster: Cluster, ledger: Callable[[], LedgerWatch]) -> None:
        self._cluster, self._ledger = cluster, ledger
        self._pods = dict[str, tuple[str, int]]()  # active ones: uid to the job's uid and milli-CPU
        self._queues = dict[str, str]()  # a job's uid to its team
        self._applied = set[tuple[str, str]]()  # of starts: job and decision
        self._newest = dict[tuple[str, str], int]()  # job and ledger to the newest seq seen on it
        self._marks = dict[str, set[str]]()  # of a job, every decision that it ever bore
        self._since_s = dict[str, float]()  # jobs that run without quota, and since when
        self._killed = set[str]()  # pods that a user made or deleted past us
        self._by_hand = set[str]()  # jobs that a user started past us
        self.touched_s = dict[str, float]()  # jobs that a user changed past us, and when
        self._resized_s = dict[str, float]()  # jobs that a user enlarged past us, and when
        self._restored_s = -UNADMITTED_S_MAX  # when etcd was brought back
        # The largest quota that each team ever had, by flavor: a holder of some of one keeps it.
        self._most = {team: {"default": most} for team, most in NOMINAL_MILLI.items()}
        self.starts = self.stops = self.unadmitted_s = 0.0
        cluster.api.registry.state.listeners.append(self.see)

    def see(self, change: Change) -> None:
        """Take in one change of the cluster's state."""
        match change.resource:
            case "jobs.batch":
                self._see_job(change.before, change.after)
            case "pods":
                self._see_pod(change.before, change.after)
            case "clusterqueues.kueue.x-k8s.io" if change.after is not None:
                (group,) = change.after["spec"]["resourceGroups"]
                most = self._most.setdefault(change.after["metadata"]["name"], {})
                for flavor in group["flavors"]:
                    quota, had = flavor["resources"][0]["nominalQuota"], most.get(flavor["name"], 0)
                    most[flavor["name"]] = max(had, milli(quota))
            case _:
                pass

    def tick(self, now_s: float, *, calm: bool) -> None:
        """Look at jobs that run without quota; what happened in a storm is not counted."""
        running = {job for job, _ in self._pods.values()}
        outside = {job for job in running if job in self._queues and not self._ledger().holds(job)}
        for job in list(self._since_s):
            if job not in outside or not calm:
                del self._since_s[job]
        for job in sorted(outside):
            since_s = self._since_s.setdefault(job, now_s)
            self.unadmitted_s = max(self.unadmitted_s, now_s - since_s)
            demand(now_s - since_s <= UNADMITTED_S_MAX, "admission", f"{job} runs without one")

    def _see_job(self, before: Object | None, after: Object | None) -> None:
        if after is None:
            assert before is not None
            # Its pods are the garbage collector's: deleting a Job gives its quota back.
            self._queues.pop(before["metadata"]["uid"], None)
            return
        metadata = after["metadata"]
        uid, team = metadata["uid"], metadata["namespace"]
        if QUEUE_LABEL in metadata.get("labels", {}):
            self._queues[uid] = team
        was = True if before is None else before["spec"].get("suspend", False)
        suspended = after["spec"].get("suspend", False)
        decision = metadata.get("annotations", {}).get(DECISION, "")
        self._marks.setdefault(uid, set()).add(decision)
        if self._cluster.acting:
            self.touched_s[uid] = _now_s()
            if before is not None and _size(before) != _size(after):
                self._resized_s[uid] = _now_s()
            if was and not suspended:
                self._by_hand.add(uid)
            return
        old = {} if before is None else before["metadata"].get("annotations", {})
        # A start suspends a Job that runs already, to change its template: a step, not an order.
        if (was and not suspended) or decision != old.get(DECISION, ""):
            self._see_order(uid, decision, starts=was and not suspended)

    def forget(self) -> None:
        """Begin anew with a cluster that was restored: whatever runs there was not started now."""
        jobs = self._cluster.jobs()
        self._by_hand |= {job["metadata"]["uid"] for job in jobs if not job["spec"]["suspend"]}
        self._applied.clear()
        self._newest.clear()
        self._restored_s = _now_s()

    def object_to_release(self, uid: str, *, by_stop: bool) -> None:
        """Object if quota is given back while pods run, or to whose job no stop ever came.

        Pods that a user started past us just now do not count, nor those of an elastic job whose
        next slice takes them over in the same turn.
        """
        if not by_stop:
            return
        since_s = _now_s() - self.touched_s.get(uid, -UNADMITTED_S_MAX)
        past_us = uid in self._by_hand or since_s < UNADMITTED_S_MAX
        runs = self.running().get(uid, 0)
        demand(past_us or not runs, "quota", f"{uid} runs {runs}m cpu and its quota is free")
        marked = self._marks.get(uid, {""}) != {""} and self._ledger().was_started(uid)
        started = uid in self._by_hand or marked
        if started and uid in self._queues:
            bore, stops = self._marks[uid], self._ledger().stops_since_start(uid)
            demand(bore & stops, "once", f"{uid} lost its quota, and bore none of {sorted(stops)}")

    def object_to_removal(self, uid: str) -> None:
        """Object if a workload is forgotten whose Job is there; a prebuilt Workload may change."""
        jobs = (job for job in self._cluster.jobs() if job["metadata"]["uid"] == uid)
        for meta in (job["metadata"] for job in jobs):
            labels, gone = meta.get("labels", {}), "deletionTimestamp" in meta
            gone = gone or uid not in self._queues or _now_s() - self._restored_s < UNADMITTED_S_MAX
            ours = QUEUE_LABEL in labels and PREBUILT not in labels
            ours = ours and HOSTILE not in meta.get("annotations", {})
            demand(gone or not ours, "loss", f"{meta['name']} ({uid}) is removed, and is there")

    def object_to_restore(self) -> None:
        """Object if the cluster counts as restored, and never was."""
        demand(self._restored_s >= 0, "past", "the cluster was never restored")

    def running(self) -> dict[str, int]:
        """Return what the pods of each job take now, by its uid, in milli-CPU."""
        taken = dict[str, int]()
        for job, cpu in self._pods.values():
            taken[job] = taken.get(job, 0) + cpu
        return taken

    def _see_order(self, uid: str, decision: str, *, starts: bool) -> None:
        ledger_id, _, text = decision.rpartition("/")
        demand(text.isdecimal(), "once", f"{uid} was changed without a decision")
        newest = self._newest.get((uid, ledger_id), 0)
        demand(int(text) >= newest, "once", f"{uid}: {decision} came after {newest}")
        self._newest[uid, ledger_id] = int(text)
        order = self._ledger().orders.get(int(text))
        if ledger_id == self._ledger().ledger_id:
            fits = order is not None and order.job.uid == uid
            demand(fits, "once", f"{decision} orders nothing of {uid}")
            kinds = StartOrdered if starts else StartOrdered | StopOrdered
            demand(isinstance(order, kinds), "once", f"{decision} did not order that")
        if starts:
            twice = (uid, decision) in self._applied
            demand(not twice, "once", f"{decision} was applied twice")
            self._applied.add((uid, decision))
            self._adopt(uid)
            self.starts += 1
        else:
            self.stops += 1

    def _adopt(self, job: str) -> None:
        """Count what a start makes of a Job; what a user started past us may still be leaving."""
        if job in self._by_hand:
            self._by_hand.discard(job)
            past_us = {pod for pod, (owner, _) in self._pods.items() if owner == job}
            self._killed |= past_us
            for pod in past_us:
                del self._pods[pod]

    def _see_pod(self, before: Object | None, after: Object | None) -> None:
        obj = after or before
        assert obj is not None
        uid = obj["metadata"]["uid"]
        owners = obj["metadata"].get("ownerReferences") or ()
        # A pod that a user deletes past us is replaced before its grace is over.
        if self._cluster.acting and "deletionTimestamp" in obj["metadata"]:
            self._killed.add(uid)
        if after is None or not owners or uid in self._killed or _ended(after):
            self._pods.pop(uid, None)
            return
        if uid in self._pods or after["spec"].get("schedulingGates"):
            return
        self._pods[uid] = owners[0]["uid"], _cpu_milli(after)
        if not self._cluster.acting:
            self._object_to_excess(owners[0]["uid"])

    def _is_past_us(self, job: str) -> bool:
        """Tell whether a user started a job, or enlarged it just now."""
        resized_s = self._resized_s.get(job, -UNADMITTED_S_MAX)
        return job in self._by_hand or _now_s() - resized_s < UNADMITTED_S_MAX

    def _object_to_excess(self, job: str) -> None:
        """Object if a team and its cohort run more than all their quota together."""
        team = self._queues.get(job)
        if team is None or team in ROOTED:
            return  # what a tree of cohorts allows is asked of what is charged
        cohort = COHORT.get(team, "")
        teams = {name for name in COHORT if COHORT[name] == cohort != ""} or {team}
        used = sum(
            cpu
            for owner, cpu in self._pods.values()
            if self._queues.get(owner) in teams and not self._is_past_us(owner)
        )
        limit = sum(sum(self._most[name].values()) for name in teams)
        demand(used <= limit, "quota", f"{sorted(teams)} run {used}m cpu of {limit}m")


def _now_s() -> float:
    return asyncio.get_running_loop().time()


def _size(job: Object) -> object:
    return job["spec"].get("parallelism")


def _ended(pod: Object) -> bool:
    # One that is being deleted runs until its grace is over.
    return pod.get("status", {}).get("phase") in ("Succeeded", "Failed")


def _cpu_milli(pod: Object) -> int:
    return sum(
        milli(container["resources"]["requests"]["cpu"]) for container in pod["spec"]["containers"]
    )

"""The Job controller: pods for Jobs that are not suspended, and the Job's status.

It follows the real one in what others can see: counters, conditions and their order, pods that go
without a trace at suspension, ``startTime`` that goes with them. One step is one look at one Job.
"""

from __future__ import annotations

from typing import Any

import msgspec

from apiserver.controllers.index import Index
from apiserver.controllers.job_pods import (
    backoff_until_us,
    create_pod,
    delete_pod,
    indexes_text,
    is_failed,
    is_ready,
    is_tracked,
    missing_indexes,
    read_indexes,
    remove_tracking,
)
from apiserver.kinds.jobs import has_condition
from apiserver.resources import JOBS
from apiserver.writes.registry import STATUS, Registry
from tidegate.cluster.pod_lifetimes import is_finished
from tidegate.kinds.times import micros

Object = dict[str, Any]
_OWN_NAME = "kubernetes.io/job-controller"
_TARGETS = {"FailureTarget": "Failed", "SuccessCriteriaMet": "Complete"}


class _Sync(msgspec.Struct):
    """One look at a Job: what it is, its pods, and the status that will be written."""

    job: Object
    pods: list[Object]
    status: Object
    again_us: int | None = None  # when to look again

    @property
    def active(self) -> list[Object]:
        """Return the pods that neither ended nor are ending."""
        return [p for p in self.pods if not is_finished(p) and not is_terminating(p)]


def is_terminating(pod: Object) -> bool:
    """Return whether a pod is being deleted."""
    return "deletionTimestamp" in pod["metadata"]


def sync_job(registry: Registry, index: Index, namespace: str, name: str) -> int | None:
    """Do what a Job needs now; return when to look again, in UTC microseconds, or None."""
    job = registry.state.get(JOBS.key, namespace, name)
    if job is None or is_terminating(job) or job["spec"].get("managedBy", _OWN_NAME) != _OWN_NAME:
        return None
    if has_condition(job, "Complete") or has_condition(job, "Failed"):
        return _delete_if_expired(registry, job)
    pods = index.pods_of(job["metadata"]["uid"])
    sync = _Sync(job, pods, msgspec.json.decode(msgspec.json.encode(job.get("status") or {})))
    counted = _count_ended_pods(sync)
    if not job["spec"]["suspend"]:
        sync.status.setdefault("startTime", registry.now())
    _fail_if_due(registry, sync)
    if has_condition({"status": sync.status}, "FailureTarget"):
        counted += _fail_active_pods(sync)
        _delete_active_pods(registry, sync)
    elif not _has_succeeded(registry, sync):
        _reconcile_pods(registry, sync)
    sync.pods = index.pods_of(job["metadata"]["uid"])
    _set_terminal_condition(registry, sync)
    _write_status(registry, sync)
    remove_tracking(registry, counted)
    return sync.again_us


def _count_ended_pods(sync: _Sync) -> list[Object]:
    """Add the pods that ended to the counters, once each; return them."""
    indexed = sync.job["spec"]["completionMode"] == "Indexed"
    counted = [p for p in sync.pods if is_tracked(p) and (is_failed(sync.job, p) or is_finished(p))]
    won = [pod for pod in counted if pod["status"]["phase"] == "Succeeded"]
    lost = len(counted) - len(won)
    if lost:
        sync.status["failed"] = sync.status.get("failed", 0) + lost
    if indexed:
        done = read_indexes(sync.status.get("completedIndexes", "")) | {
            _completion_index(p) for p in won
        }
        if done:
            sync.status |= {"succeeded": len(done), "completedIndexes": indexes_text(done)}
    elif won:
        sync.status["succeeded"] = sync.status.get("succeeded", 0) + len(won)
    return counted


def _fail_if_due(registry: Registry, sync: _Sync) -> None:
    spec, status = sync.job["spec"], sync.status
    if has_condition({"status": status}, "SuccessCriteriaMet"):
        return
    if status.get("failed", 0) > spec["backoffLimit"]:
        words = "Job has reached the specified backoff limit"
        _add_condition(registry, sync, "FailureTarget", "BackoffLimitExceeded", words)
    elif "activeDeadlineSeconds" in spec and not spec["suspend"] and "startTime" in status:
        ends_us = micros(status["startTime"]) + spec["activeDeadlineSeconds"] * 1_000_000
        if registry.now_us() >= ends_us:
            words = "Job was active longer than specified deadline"
            _add_condition(registry, sync, "FailureTarget", "DeadlineExceeded", words)
        else:
            sync.again_us = ends_us


def _fail_active_pods(sync: _Sync) -> list[Object]:
    """Count the pods that the end of their Job ends as failed; return them."""
    ended = [pod for pod in sync.active if is_tracked(pod)]
    if ended:
        sync.status["failed"] = sync.status.get("failed", 0) + len(ended)
    return ended


def _delete_active_pods(registry: Registry, sync: _Sync) -> None:
    for pod in sync.active:
        delete_pod(registry, pod)


def _has_succeeded(registry: Registry, sync: _Sync) -> bool:
    if sync.active:
        return has_condition({"status": sync.status}, "SuccessCriteriaMet")
    completions, won = sync.job["spec"].get("completions"), sync.status.get("succeeded", 0)
    if won < (1 if completions is None else completions):
        return False
    words = "Reached expected number of succeeded pods"
    _add_condition(registry, sync, "SuccessCriteriaMet", "CompletionsReached", words)
    return True


def _reconcile_pods(registry: Registry, sync: _Sync) -> None:
    suspended = has_condition({"status": sync.status}, "Suspended")
    if sync.job["spec"]["suspend"]:
        remove_tracking(registry, sync.active)  # they go without being counted
        _delete_active_pods(registry, sync)
        if not suspended:
            _add_condition(registry, sync, "Suspended", "JobSuspended", "Job suspended")
            sync.status.pop("startTime", None)
        return
    if suspended:
        _add_condition(registry, sync, "Suspended=False", "JobResumed", "Job resumed")
        sync.status["startTime"] = registry.now()
    _scale_pods(registry, sync)


def _scale_pods(registry: Registry, sync: _Sync) -> None:
    spec, active = sync.job["spec"], sync.active
    parallelism, won = spec["parallelism"], sync.status.get("succeeded", 0)
    if "completions" in spec:
        parallelism = max(0, min(parallelism, spec["completions"] - won))
    elif won:
        parallelism = len(active)
    surplus = active[parallelism:]
    remove_tracking(registry, surplus)
    for pod in surplus:
        delete_pod(registry, pod)
    if spec["podReplacementPolicy"] == "Failed":
        parallelism -= sum(is_terminating(pod) and not is_finished(pod) for pod in sync.pods)
    missing = parallelism - len(active)
    if missing <= 0:
        return
    begins_us = backoff_until_us(sync.pods)
    if begins_us > registry.now_us():
        sync.again_us = min(begins_us, sync.again_us or begins_us)
        return
    done = read_indexes(sync.status.get("completedIndexes", ""))
    for number in missing_indexes(sync.job, active, done, missing):
        create_pod(registry, sync.job, number)


def _set_terminal_condition(registry: Registry, sync: _Sync) -> None:
    """Turn a target that is reached into the end, once no pod is ending any more."""
    if any(is_terminating(pod) and not is_finished(pod) for pod in sync.pods):
        return
    for target, end in _TARGETS.items():
        for condition in list(sync.status.get("conditions") or ()):
            if condition["type"] == target and condition["status"] == "True":
                _add_condition(registry, sync, end, condition["reason"], condition["message"])
                if end == "Complete":
                    sync.status["completionTime"] = registry.now()


def _write_status(registry: Registry, sync: _Sync) -> None:
    active, status = sync.active, sync.status
    status["ready"] = sum(is_ready(pod) for pod in active)
    status["terminating"] = sum(is_terminating(p) and not is_finished(p) for p in sync.pods)
    status["uncountedTerminatedPods"] = {}
    status.pop("active", None)
    if active:
        status["active"] = len(active)
    metadata = sync.job["metadata"]
    where = metadata["namespace"], metadata["name"]
    registry.replace(JOBS, *where, {**sync.job, "status": status}, STATUS)


def _delete_if_expired(registry: Registry, job: Object) -> int | None:
    ttl_s = job["spec"].get("ttlSecondsAfterFinished")
    if ttl_s is None:
        return None
    ended = [c for c in job["status"]["conditions"] if c["type"] in ("Complete", "Failed")]
    goes_us: int = micros(ended[-1]["lastTransitionTime"]) + ttl_s * 1_000_000
    if registry.now_us() < goes_us:
        return goes_us
    delete_pod(registry, job, resource=JOBS)
    return None


def _add_condition(
    registry: Registry, sync: _Sync, condition: str, reason: str, message: str
) -> None:
    """Write a condition such as ``Complete`` or ``Suspended=False`` over an older one, if any."""
    kind, _, value = condition.partition("=")
    conditions, now = sync.status.setdefault("conditions", []), registry.now()
    written = {"type": kind, "status": value or "True", "reason": reason, "message": message}
    written |= {"lastProbeTime": now, "lastTransitionTime": now}
    others = [old for old in conditions if old["type"] != kind]
    sync.status["conditions"] = [*others, written]


def _completion_index(pod: Object) -> int:
    text = (pod["metadata"].get("annotations") or {})["batch.kubernetes.io/job-completion-index"]
    return int(text)

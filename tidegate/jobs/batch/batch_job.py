"""batch/v1 Job: one podset ``main``, suspended by ``spec.suspend``.

A Job that was started keeps its template until it is suspended, without startTime and without
active pods, so a stop takes steps: suspend, wait, then restore the template. All in one patch is
refused (422).

Called: batch/v1 Job, a CronJob's too
Podsets: ``main``: min(parallelism, completions) pods
Put in: node labels, tolerations, labels and annotations of the template; parallelism (and
completions, if asked for) under partial admission
Restored: the template and both counts
Partial: at least ``kueue.x-k8s.io/job-min-parallelism`` pods
Topology: by ``batch.kubernetes.io/job-completion-index``
"""

from __future__ import annotations

import msgspec

from tidegate.contracts.observations import JobObserved, JobState
from tidegate.errors import NotSupportedError, UndecodableError
from tidegate.jobs.batch.numbers import (
    INDEX,
    PODSET,
    Job,
    JobSpec,
    JobStatus,
    Uncounted,
    check_completions,
    check_fewest_pods,
    fewest_pods,
    outcome,
    pods_at_once,
    reclaimable_pods,
)
from tidegate.jobs.batch.placing import MANAGED_BY, ROW, before, is_bound, started, unbound
from tidegate.jobs.job_metadata import asked, identified, is_elastic, is_gated, state
from tidegate.jobs.kind import Done, JobKind, Object, Patch, Refused, Start, Step, Stop
from tidegate.jobs.templates.notes import decided_on
from tidegate.jobs.templates.paths import difference, found_at, number_of
from tidegate.jobs.templates.podsets import with_fewest, written_podset
from tidegate.kinds import names
from tidegate.kinds.decode import read
from tidegate.kinds.kueue_api.workloads.topologies import check_slices
from tidegate.kinds.meta import ObjectMeta
from tidegate.kinds.podsets import pod_set

_CONTROLLERS_LABELS = ("controller-uid", "job-name", "batch.kubernetes.io/controller-uid")


def observe(job: Job) -> JobObserved:
    """See ``JobKind.observe``."""
    managed_by = {"spec": {"managedBy": job.spec.managed_by}}
    if MANAGED_BY.is_elsewhere(managed_by):
        return identified(KIND, job.metadata)
    template, least = job.spec.template, fewest_pods(job.spec, job.metadata.annotations)
    ended, message = outcome(job.status)
    elastic = is_elastic(job.metadata.annotations)
    if elastic and least is not None:
        raise NotSupportedError(f"An elastic job has no {names.MIN_PARALLELISM}: remove one.")
    podset = pod_set(template, name=PODSET, count=pods_at_once(job.spec), min_count=least)
    check_slices((podset,), job.metadata.annotations)
    check_fewest_pods(job)
    check_completions(job)
    observation = asked(KIND, job.metadata)
    return msgspec.structs.replace(
        observation,
        gates=(*observation.gates, *MANAGED_BY.gates(managed_by)),
        pod_priority_class=template.spec.priority_class_name,
        podsets=(podset,),
        reclaimable={} if elastic else reclaimable_pods(job),
        elastic=elastic,
        ungated=elastic and not job.spec.suspend and not is_gated(template),
        finished=ended,
        message=message,
        state=_state(job),
    )


def start(start: Start, job: Object) -> Step:
    """See ``JobKind.start``: one patch unsuspends, puts in, notes and names the decision."""
    if decided_on(job, start.ledger_id) >= start.seq or ended(job):
        return Done()
    if _runs_elastically(job):  # its pods are let go by their gates
        return Patch(body={"metadata": {"annotations": {names.DECISION: start.decision}}})
    patched = started(before(job), start)
    if isinstance(patched, Refused):
        return patched
    if patched["spec"] != job["spec"]:
        if start.is_stale(job):
            return Refused(reason="stale", message="The job changed after this was decided.")
        if is_bound(job) and patched["spec"]["template"] != job["spec"]["template"]:
            return unbound(job)
    return Patch(body=difference(job, patched))


def stop(stop: Stop, job: Object, waited_s: float) -> Step:
    """See ``JobKind.stop``: suspend; wait until its pods are gone; restore the template."""
    seq = decided_on(job, stop.ledger_id)
    suspended = job["spec"].get("suspend", False)
    if seq > stop.seq or ended(job) or (seq == stop.seq and not suspended):
        return Done()  # unsuspended after our patch: that is news for a next decision
    if seq < stop.seq:
        decision = {"annotations": {names.DECISION: stop.decision}}
        return Patch(body={"metadata": decision, "spec": {"suspend": True}})
    if names.INJECTED not in job["metadata"].get("annotations", {}):
        return Done()
    if is_bound(job):
        return unbound(job, waited_s)
    return Patch(body=difference(job, before(job, stop.order.podsets)))


def podsets(job: Object) -> list[Object]:
    """See ``JobKind.podsets``; labels that the Job's controller adds are left out."""
    source = before(job)
    template: Object = source["spec"]["template"]
    meta: Object = template.get("metadata", {})
    if "labels" in meta:
        items = meta["labels"].items()
        labels = {name: value for name, value in items if name not in _CONTROLLERS_LABELS}
        template = {**template, "metadata": {**meta, "labels": labels}}
    spec = read(source["spec"], JobSpec)
    least = fewest_pods(spec, source["metadata"].get("annotations", {}))
    return [with_fewest(written_podset(PODSET, pods_at_once(spec), template, index=INDEX), least)]


def status_of(meta: ObjectMeta, job: Object) -> JobState:
    """See ``JobKind.status_of``."""
    return state(
        meta,
        suspended=found_at(job, ("spec", "suspend")) is True,
        started=found_at(job, ("status", "startTime")) is not None,
        active=number_of(job, ("status", "active")) + number_of(job, ("status", "terminating")),
    )


def ended(job: Object) -> str:
    """See ``JobKind.ended``."""
    status = found_at(job, ("status",))
    try:
        return outcome(read(status, JobStatus))[0] if isinstance(status, dict) else ""
    except UndecodableError:
        return ""


def _state(job: Job) -> JobState:
    status = job.status
    uncounted = status.uncounted_terminated_pods or Uncounted()
    return state(
        job.metadata,
        suspended=job.spec.suspend,
        started=status.start_time is not None,
        active=status.active + (status.terminating or 0),  # pods in their grace period still run
        ready=status.ready,
        succeeded=status.succeeded + len(uncounted.succeeded),
    )


def _runs_elastically(job: Object) -> bool:
    """Return whether an elastic Job was started: it keeps its template, and its pods are gated."""
    annotations = job["metadata"].get("annotations", {})
    started = names.INJECTED in annotations and not job["spec"].get("suspend", False)
    return started and is_elastic(annotations)


KIND = JobKind(
    name=ROW.name,
    group=ROW.group,
    version=ROW.version,
    kind=ROW.kind,
    plural=ROW.resource,
    elastic=True,
    optional=False,
    managed_by=MANAGED_BY,
    seen=Job,
    observe=observe,
    start=start,
    stop=stop,
    status_of=status_of,
    ended=ended,
    podsets=podsets,
)

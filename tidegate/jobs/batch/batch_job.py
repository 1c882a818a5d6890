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
    check_min_parallelism,
    min_parallelism,
    parallel_pods,
    reclaimable_pods,
    terminal_condition,
)
from tidegate.jobs.batch.placing import (
    MANAGED_BY,
    ROW,
    has_immutable_template,
    original_job,
    started_job,
    unbind_step,
)
from tidegate.jobs.job_metadata import (
    has_elastic_gate,
    is_elastic,
    job_state,
    managed_job,
    unmanaged_job,
)
from tidegate.jobs.kind import Done, JobKind, Object, Patch, Refused, Start, Step, Stop
from tidegate.jobs.templates.notes import decision_seq_of
from tidegate.jobs.templates.paths import merge_patch, number_of, value_at
from tidegate.jobs.templates.podsets import with_min_count, written_podset
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
        return unmanaged_job(KIND, job.metadata)
    template, least = job.spec.template, min_parallelism(job.spec, job.metadata.annotations)
    ended, message = terminal_condition(job.status)
    elastic = is_elastic(job.metadata.annotations)
    if elastic and least is not None:
        raise NotSupportedError(f"An elastic job has no {names.MIN_PARALLELISM}: remove one.")
    podset = pod_set(template, name=PODSET, count=parallel_pods(job.spec), min_count=least)
    check_slices((podset,), job.metadata.annotations)
    check_min_parallelism(job)
    check_completions(job)
    observation = managed_job(KIND, job.metadata)
    return msgspec.structs.replace(
        observation,
        gates=(*observation.gates, *MANAGED_BY.gates(managed_by)),
        pod_priority_class=template.spec.priority_class_name,
        podsets=(podset,),
        reclaimable={} if elastic else reclaimable_pods(job),
        elastic=elastic,
        ungated=elastic and not job.spec.suspend and not has_elastic_gate(template),
        finished=ended,
        message=message,
        state=_state(job),
    )


def start(start: Start, job: Object) -> Step:
    """See ``JobKind.start``: one patch unsuspends, puts in, notes and names the decision."""
    if decision_seq_of(job, start.ledger_id) >= start.seq or terminal_phase(job):
        return Done()
    if _is_started_elastic(job):  # its pods are let go by their gates
        return Patch(body={"metadata": {"annotations": {names.DECISION: start.decision}}})
    patched = started_job(original_job(job), start)
    if isinstance(patched, Refused):
        return patched
    if patched["spec"] != job["spec"]:
        if start.is_stale(job):
            return Refused(reason="stale", message="The job changed after this was decided.")
        if has_immutable_template(job) and patched["spec"]["template"] != job["spec"]["template"]:
            return unbind_step(job)
    return Patch(body=merge_patch(job, patched))


def stop(stop: Stop, job: Object, waited_s: float) -> Step:
    """See ``JobKind.stop``: suspend; wait until its pods are gone; restore the template."""
    seq = decision_seq_of(job, stop.ledger_id)
    suspended = job["spec"].get("suspend", False)
    if seq > stop.seq or terminal_phase(job) or (seq == stop.seq and not suspended):
        return Done()  # unsuspended after our patch: that is news for a next decision
    if seq < stop.seq:
        decision = {"annotations": {names.DECISION: stop.decision}}
        return Patch(body={"metadata": decision, "spec": {"suspend": True}})
    if names.INJECTED not in job["metadata"].get("annotations", {}):
        return Done()
    if has_immutable_template(job):
        return unbind_step(job, waited_s)
    return Patch(body=merge_patch(job, original_job(job, stop.order.podsets)))


def podsets(job: Object) -> list[Object]:
    """See ``JobKind.podsets``; labels that the Job's controller adds are left out."""
    source = original_job(job)
    template: Object = source["spec"]["template"]
    meta: Object = template.get("metadata", {})
    if "labels" in meta:
        items = meta["labels"].items()
        labels = {name: value for name, value in items if name not in _CONTROLLERS_LABELS}
        template = {**template, "metadata": {**meta, "labels": labels}}
    spec = read(source["spec"], JobSpec)
    least = min_parallelism(spec, source["metadata"].get("annotations", {}))
    return [
        with_min_count(written_podset(PODSET, parallel_pods(spec), template, index=INDEX), least)
    ]


def status_of(meta: ObjectMeta, job: Object) -> JobState:
    """See ``JobKind.status_of``."""
    return job_state(
        meta,
        suspended=value_at(job, ("spec", "suspend")) is True,
        started=value_at(job, ("status", "startTime")) is not None,
        active=number_of(job, ("status", "active")) + number_of(job, ("status", "terminating")),
    )


def terminal_phase(job: Object) -> str:
    """See ``JobKind.terminal_phase``."""
    status = value_at(job, ("status",))
    try:
        return terminal_condition(read(status, JobStatus))[0] if isinstance(status, dict) else ""
    except UndecodableError:
        return ""


def _state(job: Job) -> JobState:
    status = job.status
    uncounted = status.uncounted_terminated_pods or Uncounted()
    return job_state(
        job.metadata,
        suspended=job.spec.suspend,
        started=status.start_time is not None,
        active=status.active + (status.terminating or 0),  # pods in their grace period still run
        ready=status.ready,
        succeeded=status.succeeded + len(uncounted.succeeded),
    )


def _is_started_elastic(job: Object) -> bool:
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
    object_type=Job,
    observe=observe,
    start=start,
    stop=stop,
    status_of=status_of,
    terminal_phase=terminal_phase,
    podsets=podsets,
)

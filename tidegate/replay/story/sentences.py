"""One English sentence for each event of a workload, with the amounts that decided it."""

from __future__ import annotations

from typing import TypeAlias, assert_never

from tidegate.contracts import decisions, facts
from tidegate.contracts.observations import JobState
from tidegate.model.podset import PodSet, PodSetAssignment
from tidegate.model.quantity import format_quantity
from tidegate.model.texts import printable
from tidegate.replay.story.clusters import Dispatching, dispatching_text
from tidegate.replay.story.placements import Placing, placement_text
from tidegate.replay.story.unadmitted import Differing, difference_text, removal_text

RequestEvent: TypeAlias = (
    facts.WorkloadSubmitted
    | facts.WorkloadChanged
    | facts.WorkloadAdopted
    | facts.WorkloadFinished
    | facts.WorkloadRemoved
)
StateEvent: TypeAlias = (
    facts.JobStateReported
    | facts.WorkloadStopped
    | facts.PodsReadyReported
    | facts.PodsReclaimed
    | facts.CheckReported
    | facts.ActuationFailed
    | (facts.ObservationRefused | Differing)
)
Queueing: TypeAlias = (
    decisions.WorkloadPending
    | decisions.QuotaReserved
    | decisions.WorkloadAdmitted
    | decisions.QuotaReleased
    | decisions.WorkloadRequeued
    | decisions.WorkloadDeactivated
    | decisions.WorkloadExpired
)
Leaving: TypeAlias = (
    decisions.PreemptionIntended
    | decisions.PreemptionAbandoned
    | decisions.WorkloadPreempted
    | decisions.WorkloadEvicted
)
Ordering: TypeAlias = (
    decisions.StartOrdered
    | decisions.StopOrdered
    | decisions.OrderReissued
    | decisions.ReservationRepeated
)
Family: TypeAlias = decisions.VariantCreated | decisions.VariantDeleted | decisions.VariantUngated
StoryEvent: TypeAlias = (
    RequestEvent | StateEvent | Queueing | Leaving | Ordering | Family | Placing | Dispatching
)
"""All events that may be in a workload's story."""
PREEMPTED = "Preempted"
_SECOND_US = 1_000_000


def sentence(event: StoryEvent, workload: str) -> str:
    """Return the sentence of an event for ``workload``, without the time.

    Tenants and worker clusters write parts of it: it has printable characters only.
    """
    return printable(_sentence(event, workload))


def _sentence(event: StoryEvent, workload: str) -> str:
    if isinstance(event, Ordering):
        return _ordering_text(event)
    if isinstance(event, Leaving):
        return _leaving_text(event, workload)
    if isinstance(event, Family):
        return _variant_text(event)
    if isinstance(event, Placing):
        return placement_text(event)
    if isinstance(event, Dispatching):
        return dispatching_text(event)
    if isinstance(event, Queueing):
        return _queueing_text(event)
    if isinstance(event, RequestEvent):
        return _request_text(event)
    return _state_text(event)


def tried_text(tried: decisions.FlavorTried) -> str:
    """Return one flavor-resource that was tried, with its amounts, as text."""
    requested, free, allowed = (
        format_quantity(tried.resource, units)
        for units in (tried.requested, tried.unused, tried.maximum)
    )
    text = f"{tried.resource} of flavor {tried.flavor} for podset {tried.podset}: "
    text += f"requested {requested}, unused {free}, at most {allowed}"
    if tried.preemptable:
        preemptable = format_quantity(tried.resource, tried.preemptable)
        text += f", {preemptable} used by workloads it could preempt"
    return f"{text} ({tried.reason})" if tried.reason else text


def _request_text(event: RequestEvent) -> str:
    match event:
        case facts.WorkloadSubmitted():
            by = f" by {event.author}" if event.author else ""
            return (
                f"Submitted to queue {event.queue or '(none)'}{by}: {_podsets_text(event.podsets)}."
            )
        case facts.WorkloadChanged():
            active = "" if event.active else ", and is set inactive"
            request = f"queue {event.queue}, {_podsets_text(event.podsets)}{active}"
            return f"Its request changed to: {request}."
        case facts.WorkloadAdopted():
            assigned = assignments_text(event.assignment)
            return f"Adopted while running, charged to {event.cluster_queue}: {assigned}."
        case facts.WorkloadFinished():
            return _join_texts(f"Finished: {event.reason}", event.message)
        case facts.WorkloadRemoved():
            return removal_text(event)
        case _:
            assert_never(event)


def _state_text(event: StateEvent) -> str:
    match event:
        case facts.JobStateReported():
            return _job_state_text(event.state)
        case facts.WorkloadStopped():
            return "Its job has stopped: no pods are active, and the job carries the stop order."
        case facts.PodsReadyReported():
            return "All pods are ready." if event.ready else "Not all pods are ready any more."
        case facts.PodsReclaimed():
            done = ", ".join(f"{n} of {name}" for name, n in sorted(event.reclaimable.items()))
            return f"Pods that finished: {done or 'none'}; their quota is released."
        case facts.CheckReported():
            return _join_texts(f"Admission check {event.check} is {event.state}", event.message)
        case facts.ActuationFailed():
            failed = f"Carrying out the order of seq {event.decision_seq} failed: {event.reason}"
            return _join_texts(failed, event.message)
        case facts.ObservationRefused():
            return _join_texts("ingest could not read a change of its job", event.error)
        case _:
            return difference_text(event)


def _queueing_text(event: Queueing) -> str:
    match event:
        case decisions.WorkloadPending():
            return _pending_text(event)
        case decisions.QuotaReserved():
            borrowing = f", borrowing at height {event.borrows}" if event.borrows else ""
            where = f", to run in cluster {event.cluster}" if event.cluster else ""
            text = f"Quota reserved in {event.cluster_queue}{borrowing}{where}"
            checks = f"; it starts once these admission checks are ready: {', '.join(event.checks)}"
            return f"{text}: {assignments_text(event.assignment)}{checks if event.checks else ''}."
        case decisions.WorkloadAdmitted():
            waited_s = event.waited_us // _SECOND_US
            return f"Admitted by {event.cluster_queue}, {waited_s} s after its creation."
        case decisions.QuotaReleased():
            return _join_texts("Quota released", event.reason)
        case decisions.WorkloadRequeued():
            return _requeued_text(event)
        case decisions.WorkloadDeactivated():
            return _join_texts(f"Deactivated: {event.reason}", event.message)
        case decisions.WorkloadExpired():
            return _join_texts("Its retention time is over", event.reason)
        case _:
            assert_never(event)


def _leaving_text(event: Leaving, workload: str) -> str:
    match event:
        case decisions.PreemptionIntended():
            victims = ", ".join(f"{each.workload} ({each.reason})" for each in event.victims)
            return f"Starts once these workloads have stopped: {victims}."
        case decisions.PreemptionAbandoned():
            return _join_texts("No longer waits for the workloads it preempted", event.reason)
        case decisions.WorkloadPreempted():
            if event.workload != workload:
                return f"Preempts {event.workload} of {event.cluster_queue}: {event.reason}."
            lost = f" It loses {event.lost_us // 1_000_000} s of run time." if event.lost_us else ""
            return f"Preempted by {event.by} of {event.by_cluster_queue}: {event.reason}.{lost}"
        case decisions.WorkloadEvicted():
            cause = f" ({event.cause})" if event.cause else ""
            more = "" if event.reason == PREEMPTED else event.message  # it is in the line before
            return _join_texts(f"Evicted: {event.reason}{cause}", more)
        case _:
            assert_never(event)


def _variant_text(event: Family) -> str:
    match event:
        case decisions.VariantCreated():
            return f"Variant {event.workload} created: {event.parent} on flavor {event.flavor}."
        case decisions.VariantDeleted():
            return f"Variant {event.workload} deleted: flavor {event.flavor} is no longer tried."
        case decisions.VariantUngated():
            return f"Variant {event.workload} may now preempt other workloads."
        case _:
            assert_never(event)


def _ordering_text(event: Ordering) -> str:
    match event:
        case decisions.StartOrdered():
            places = ", ".join(
                f"{_pods_text(each.count)} of {each.name}{_labels_text(each.node_selector)}"
                for each in event.podsets
            )
            return f"Start ordered: {places or event.job.name}."
        case decisions.StopOrdered():
            return _join_texts("Stop ordered", event.reason)
        case decisions.OrderReissued():
            return f"The {event.order} is re-issued: not observed yet (repetition {event.attempt})."
        case decisions.ReservationRepeated():
            checks = "" if event.admitted else ", ".join(event.checks)
            return f"Its Workload may not show {checks or 'its reservation'} yet: status rewritten."
        case _:
            assert_never(event)


def _pending_text(event: decisions.WorkloadPending) -> str:
    text = f"Waits: {event.reason}"
    if event.tried:
        text += "; " + "; ".join(tried_text(each) for each in event.tried)
    elif event.message:
        text += f"; {event.message.rstrip('.')}"
    if event.inadmissible:
        text += "; not retried, like all identical workloads, until quota changes"
    return text + "."


def _requeued_text(event: decisions.WorkloadRequeued) -> str:
    text = "Queued again" + (f" after {event.reason}" if event.reason else "")
    if event.after_us > event.at_us:
        pause_s = -(-(event.after_us - event.at_us) // _SECOND_US)
        text += f", with a back-off of {pause_s} s"
    return text + (f" (attempt {event.attempts})." if event.attempts else ".")


def _job_state_text(state: JobState) -> str:
    if state.suspended and not state.deleting:
        rest = f", {_pods_text(state.active)} still active" if state.active else ""
        return f"Its job is suspended{rest}."
    doing = "is being deleted" if state.deleting else "is not suspended"
    return f"Its job {doing}, {_pods_text(state.active)} active."


def _podsets_text(podsets: tuple[PodSet, ...]) -> str:
    return "; ".join(_podset_text(podset) for podset in podsets) or "nothing"


def _podset_text(podset: PodSet) -> str:
    own = () if podset.pod_resources is None else (podset.pod_resources,)
    resources = [
        " ".join(f"{name}={text}" for name, text in sorted(each.requests.items()))
        for each in (*podset.containers, *own)
    ]
    least = f" (at least {podset.min_count})" if podset.min_count is not None else ""
    each = " + ".join(filter(None, resources))
    requests = f"each {each}" if each else "without requests"
    return f"{_pods_text(podset.count)} of {podset.name}{least}, {requests}"


def _pods_text(count: int) -> str:
    return "1 pod" if count == 1 else f"{count} pods"


def assignments_text(assignment: tuple[PodSetAssignment, ...]) -> str:
    """Return the flavors and amounts of each podset as text."""
    return "; ".join(_assignment_text(podset) for podset in assignment) or "nothing"


def _assignment_text(assignment: PodSetAssignment) -> str:
    usage = ", ".join(
        f"{name} {format_quantity(name, units)} of {assignment.flavors.get(name, '?')}"
        for name, units in sorted(assignment.usage.items())
    )
    pods = f"{_pods_text(assignment.count)} of {assignment.name}"
    return f"{pods}: {usage}" if usage else f"{pods} without requests"


def _labels_text(labels: dict[str, str]) -> str:
    text = ", ".join(f"{key}={value}" for key, value in sorted(labels.items()))
    return f" on nodes with {text}" if text else ""


def _join_texts(text: str, more: str) -> str:
    return f"{text}: {more.rstrip('.')}." if more else f"{text}."

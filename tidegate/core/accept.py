"""Turns observations from NATS into facts: each once, in order, and only if something changed.

Later decisions depend on nothing but the facts returned here. The memory beside them
(``tidegate.core.state.dedup``) saves duplicate facts, and is empty after a start.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256

from msgspec import structs

from tidegate.contracts import observations
from tidegate.contracts.codec import PAYLOAD_BYTES_MAX, decode_observation
from tidegate.contracts.entry import Message, Position
from tidegate.contracts.facts import (
    ActuationFailed,
    FactEvent,
    GapObserved,
    ObservationRefused,
    RoundCompleted,
    StreamReplaced,
    WatchesExpected,
)
from tidegate.contracts.observed.clusters import RemoteClusterObserved, RemoteWorkloadObserved
from tidegate.contracts.observed.handovers import TreeReleasedObserved, TreeTakenObserved
from tidegate.contracts.subjects import resource_of
from tidegate.core.accepting.clock import accept_heartbeat, record_unwatched, time_of
from tidegate.core.accepting.definitions import (
    DefinitionObserved,
    accept_definition,
    accept_policy,
    remove_definition,
)
from tidegate.core.accepting.handovers import accept_handover, release_trees, with_removals
from tidegate.core.accepting.jobs.adoption import adopt_workloads, synced_clusters
from tidegate.core.accepting.jobs.copies import clear_stray, remove_copy, reported_workload
from tidegate.core.accepting.jobs.fields import fact_fields
from tidegate.core.accepting.jobs.observed import accept_job, remove_job
from tidegate.core.accepting.jobs.siblings import with_variant_facts
from tidegate.core.accepting.relevance import record_removal, remove_foreign_queue
from tidegate.core.accepting.reports import accept_dispatcher_report
from tidegate.core.accepting.rounds import begin_round, drop_open_rounds, end_round
from tidegate.core.folding.fold import apply
from tidegate.core.members.cluster_status import (
    accept_member_heartbeat,
    check_cluster_uid,
    forget_former_uids,
    is_cluster_replaced,
    is_unverified,
    report_dropped_observation,
)
from tidegate.core.members.qualify import qualify_observation
from tidegate.core.state.definition_kinds import definitions_of
from tidegate.core.state.desired_state import decision_seq
from tidegate.core.state.state import State
from tidegate.errors import UndecodableError
from tidegate.model.clusters import qualified
from tidegate.model.ids import ObjectRef

ENVELOPE_BYTES = 4_096
"""How many bytes a fact may add to the observation that it is made from."""
NONE_POISONED: Mapping[Position, str] = {}


def accept(
    state: State,
    position: Position,
    messages: Iterable[Message],
    poisoned: Mapping[Position, str] = NONE_POISONED,
    *,
    cluster: str = "",
) -> tuple[list[FactEvent], Position]:
    """Fold what follows a position into the state; return the facts and the new position.

    Messages may come repeated and in any order. A missing one is recorded as ``GapObserved``,
    another stream as ``StreamReplaced``: the caller asks for a resync when it finds these.
    Of a message that is ``poisoned``, by its position, only the error is recorded.
    Incarnations are equal or not and have no order: a stream made anew, or brought back from a
    copy, may be the older one by its clock. ``cluster``: the member cluster whose stream it is.
    """
    facts: list[FactEvent] = []
    for message in _sort_messages(position, messages):
        if message.at.incarnation == position.incarnation and message.at.seq <= position.seq:
            continue  # it came before
        for fact in with_variant_facts(
            state, _with_adoptions(state, _facts_of(state, position, message, cluster, poisoned))
        ):
            apply(state, fact)
            facts.append(fact)
        position = message.at
    return facts, position


def _sort_messages(position: Position, messages: Iterable[Message]) -> list[Message]:
    """Return messages by seq: the known stream's first, then other streams in order of arrival."""
    came, ordered = {position.incarnation: 0}, list(messages)
    for message in ordered:
        came.setdefault(message.at.incarnation, len(came))
    return sorted(ordered, key=lambda message: (came[message.at.incarnation], message.at.seq))


def _with_adoptions(state: State, facts: Iterator[FactEvent]) -> Iterator[FactEvent]:
    """Pass the facts on; after one that completes a cluster's first rounds, yield its adoptions."""
    for fact in with_removals(state, facts):
        may_complete = isinstance(fact, RoundCompleted | WatchesExpected)
        before = synced_clusters(state) if may_complete else frozenset[str]()
        yield fact
        if may_complete and (now := synced_clusters(state) - before):
            yield from adopt_workloads(state, fact.at_us, now)


def _facts_of(
    state: State,
    position: Position,
    message: Message,
    cluster: str,
    poisoned: Mapping[Position, str],
) -> Iterator[FactEvent]:
    """Yield the facts of one message, each to be folded before the next is taken."""
    at_us = time_of(state, message.at_us)
    yield from _detect_gap(state, at_us, position, message.at, cluster)
    if message.at in poisoned:
        yield _refusal(at_us, message, poisoned[message.at])
        return
    if len(message.payload) > PAYLOAD_BYTES_MAX - ENVELOPE_BYTES:
        yield _refusal(at_us, message, "It is too large to be recorded.")
        return
    try:
        decoded = decode_observation(message.payload)
        observation = qualify_observation(decoded, cluster) if cluster else decoded
    except UndecodableError as error:
        yield _refusal(at_us, message, str(error))
        return
    if observation is None:
        return
    if cluster:
        yield from check_cluster_uid(state, at_us, observation)
        if is_cluster_replaced(state, cluster):
            return
        if is_unverified(state, cluster, observation):
            yield from report_dropped_observation(state, at_us, cluster, message.at.seq)
            return
    yield from _accept_observation(state, at_us, message, observation, cluster)


def _detect_gap(
    state: State, at_us: int, position: Position, newest: Position, cluster: str
) -> Iterator[FactEvent]:
    expected = position.seq + 1
    if newest.incarnation != position.incarnation:
        expected = 1
        if position.incarnation:  # the very first stream replaces none
            yield StreamReplaced(at_us=at_us, incarnation=newest.incarnation, cluster=cluster)
    if newest.seq != expected:
        yield GapObserved(at_us=at_us, expected_seq=expected, found_seq=newest.seq, cluster=cluster)
    elif newest.incarnation == position.incarnation or not position.incarnation:
        return
    drop_open_rounds(state, cluster)  # a round with a lost message proves nothing


def _accept_observation(
    state: State, at_us: int, message: Message, observation: observations.Observation, cluster: str
) -> Iterator[FactEvent]:
    match observation:
        case observations.Heartbeat() if cluster:
            yield from accept_member_heartbeat(state, at_us, observation)
            record_unwatched(state, observation, at_us)
        case (
            observations.SyncStarted()
            | observations.SyncCompleted()
            | observations.Heartbeat()
            | observations.Probe()
        ):
            yield from _accept_session_message(state, at_us, message, observation)
        case observations.ActuationReported():
            yield from _accept_actuation_failure(state, at_us, observation)
        case observations.PolicyObserved():
            yield from accept_policy(state, at_us, observation)
            forget_former_uids(state)
        case RemoteClusterObserved() | RemoteWorkloadObserved():
            yield from accept_dispatcher_report(state, at_us, observation)
        case TreeReleasedObserved() | TreeTakenObserved():
            yield from accept_handover(state, at_us, observation)
        case observations.ObjectRefused():
            workload = state.by_uid.get(observation.uid, "")
            refused = _refusal(at_us, message, observation.error, workload)
            yield structs.replace(refused, uid=observation.uid, reason=observation.reason)
            yield from _accept_unreadable_job(state, at_us, observation)
        case _:
            resource = qualified(resource_of(message.subject), cluster)
            yield from _accept_object(state, at_us, resource, observation)


def _accept_session_message(
    state: State,
    at_us: int,
    message: Message,
    observation: observations.SyncStarted
    | observations.SyncCompleted
    | observations.Heartbeat
    | observations.Probe,
) -> Iterator[FactEvent]:
    match observation:
        case observations.SyncStarted():
            yield from begin_round(state, at_us, observation)
        case observations.SyncCompleted():
            yield from _accept_round_end(state, at_us, message, observation)
        case observations.Heartbeat():
            yield from accept_heartbeat(state, observation, message.at_us)
            yield from release_trees(state, state.now_us)
        case observations.Probe():
            pass  # a probe only tests that NATS stores messages


def _accept_unreadable_job(
    state: State, at_us: int, refusal: observations.ObjectRefused
) -> Iterator[FactEvent]:
    """Yield the facts about an unreadable job: it must not run, since its requests are unknown."""
    if (job := refusal.job) is not None:
        where = {"version": refusal.version, "session": refusal.session, "round": refusal.round}
        yield from accept_job(state, at_us, refusal.resource, structs.replace(job, **where))


def _accept_object(
    state: State,
    at_us: int,
    resource: str,
    observation: DefinitionObserved | observations.JobObserved | observations.ObjectGone,
) -> Iterator[FactEvent]:
    if isinstance(observation, observations.ObjectGone):
        yield from _accept_deletion(state, at_us, observation)
    elif isinstance(observation, observations.JobObserved):
        yield from accept_job(state, at_us, resource or observation.kind, observation)
    else:
        yield from accept_definition(state, at_us, observation)


def _accept_deletion(
    state: State, at_us: int, removal: observations.ObjectGone
) -> Iterator[FactEvent]:
    # A uid never comes back, so its deletion counts whatever version is known.
    definitions = definitions_of(state.objects, removal.resource)
    if definitions is None:
        copy = state.copies.get(removal.uid)
        job = state.workloads.get(state.by_uid.get(removal.uid, ""))
        if copy is not None:
            yield from remove_copy(state, at_us, copy, removal.version)
        if job is not None:
            yield from remove_job(state, at_us, job, removal.version)
        if copy is not None or job is not None:
            return
    else:
        key = f"{removal.namespace}/{removal.name}" if removal.namespace else removal.name
        definition = definitions.get(key)
        if definition is not None and definition.uid == removal.uid:
            yield remove_definition(state, at_us, removal.resource, definition, removal.version)
            return
    yield from remove_foreign_queue(state, at_us, removal.uid, removal.version)
    yield from clear_stray(state, at_us, removal.uid)
    gone = ObjectRef(kind="", namespace=removal.namespace, name=removal.name, uid=removal.uid)
    record_removal(state, removal.resource, gone, removal.version)


def _accept_round_end(
    state: State, at_us: int, message: Message, completed: observations.SyncCompleted
) -> Iterator[FactEvent]:
    for news in end_round(state, at_us, completed, message.at.seq):
        if isinstance(news, observations.Observed):
            assert isinstance(news, observations.JobObserved | DefinitionObserved)
            yield from _accept_object(state, at_us, completed.resource, news)
        else:
            yield news


def _accept_actuation_failure(
    state: State, at_us: int, report: observations.ActuationReported
) -> Iterator[FactEvent]:
    """Yield that the actuator could not carry out an order, if that order is in force."""
    workload = reported_workload(state, report)
    seq = decision_seq(state, report.decision)
    if workload is None or workload.order is None or seq != workload.order.seq:
        return
    failure = workload.failure
    if failure is None or (failure.decision_seq, failure.reason) != (seq, report.reason):
        yield ActuationFailed(
            **fact_fields(at_us, workload),
            decision_seq=seq,
            reason=report.reason,
            message=report.message,
        )


def _refusal(at_us: int, message: Message, error: str, workload: str = "") -> ObservationRefused:
    digest = sha256(message.payload).hexdigest()
    return ObservationRefused(
        at_us=at_us, subject=message.subject, digest=digest, error=error, workload=workload
    )

"""Qualifies a member cluster's observations: every name gets its cluster's name.

From here on, resources, sessions, uids and workload keys name their cluster, so that rounds,
sessions, versions and deletions are compared within one cluster only. Queues, quotas, flavors and
classes are those of the ledger's own cluster: a member's own are ignored.
"""

from __future__ import annotations

from msgspec.structs import replace

from tidegate.contracts import observations as seen
from tidegate.core.members.placing import ACCEPTS
from tidegate.core.state.definition_kinds import FIELDS
from tidegate.errors import UndecodableError
from tidegate.model.clusters import AT, KINDS, NAMESPACES, PLACEABLE, RESOURCES, qualified
from tidegate.model.texts import is_name


def enter(observation: seen.Observation, cluster: str) -> seen.Observation | None:
    """Return an observation of a member cluster with qualified names; None: it is ignored.

    Raises:
        UndecodableError: a name holds "@", or a job is of a kind that stays out of the ledger.
    """
    match observation:
        case seen.SyncStarted() | seen.SyncCompleted():
            return _bracket(observation, cluster)
        case seen.Heartbeat():
            watched = tuple(
                _name(resource, cluster)
                for resource in observation.resources
                if resource in (*RESOURCES, NAMESPACES)
            )
            return replace(
                observation, session=_name(observation.session, cluster), resources=watched
            )
        case seen.JobObserved():
            return _job(observation, cluster)
        case seen.NamespaceObserved():
            return _namespace(observation, cluster)
        case seen.ObjectGone() if (
            observation.resource not in FIELDS or observation.resource == NAMESPACES
        ):
            return replace(
                observation,
                uid=_name(observation.uid, cluster),
                session=_name(observation.session, cluster),
                resource=_name(observation.resource, cluster),
            )
        case seen.ObjectRefused() if observation.resource in RESOURCES:
            return _refused(observation, cluster)
        case seen.ActuationReported():
            return replace(
                observation,
                job=replace(
                    observation.job, uid=_name(observation.job.uid, cluster), cluster=cluster
                ),
                workload=_name(observation.workload, cluster),
            )
        case _:
            return None


def _bracket(
    observation: seen.SyncStarted | seen.SyncCompleted, cluster: str
) -> seen.SyncStarted | seen.SyncCompleted | None:
    if observation.resource not in (*RESOURCES, NAMESPACES):
        return None
    names = {
        "resource": _name(observation.resource, cluster),
        "session": _name(observation.session, cluster),
    }
    if isinstance(observation, seen.SyncStarted):
        return replace(observation, **names)
    present = tuple(_name(uid, cluster) for uid in observation.present)
    return replace(observation, present=present, **names)


def _namespace(namespace: seen.NamespaceObserved, cluster: str) -> seen.NamespaceObserved:
    """Return a member's Namespace with the only label that counts here."""
    text = namespace.labels.get(ACCEPTS)
    return replace(
        namespace,
        name=_name(namespace.name, cluster),
        uid=_name(namespace.uid, cluster),
        session=_name(namespace.session, cluster),
        labels={} if text is None else {ACCEPTS: text},
    )


def _job(job: seen.JobObserved, cluster: str) -> seen.JobObserved:
    entered = replace(
        job,
        uid=_name(job.uid, cluster),
        session=_name(job.session, cluster),
        workload=_name(job.workload, cluster),
    )
    if AT in job.namespace + job.name:
        raise UndecodableError(f"{job.namespace}/{job.name} is no name of Kubernetes")
    if job.copy is not None and not (is_name(job.namespace) and is_name(job.name)):
        named = f"{job.namespace[:80]!r}/{job.name[:80]!r}"
        raise UndecodableError(f"{named} is no name of Kubernetes")
    if problem := _unsupported(job):
        raise UndecodableError(f"{job.namespace}/{job.name} in cluster {cluster}: {problem}")
    return entered


def _unsupported(job: seen.JobObserved) -> str:
    if job.kind not in KINDS:
        return f"{job.kind} of a member cluster is not supported"
    if job.elastic or job.replaces:
        return "elastic jobs of a member cluster are not supported"
    if job.prebuilt or job.variant_of:
        return "prebuilt Workloads and variants of a member cluster are not supported"
    if job.kind not in PLACEABLE and (job.copy is not None or job.body):
        return f"{job.kind} cannot run as a copy in another cluster"
    return ""


def _refused(refusal: seen.ObjectRefused, cluster: str) -> seen.ObjectRefused:
    return replace(
        refusal,
        uid=_name(refusal.uid, cluster),
        session=_name(refusal.session, cluster),
        resource=_name(refusal.resource, cluster),
        job=None if refusal.job is None else _job(refusal.job, cluster),
    )


def _name(name: str, cluster: str) -> str:
    if AT in name:
        raise UndecodableError(f"{name!r} holds the mark between a name and its cluster")
    return qualified(name, cluster)

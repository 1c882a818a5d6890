"""Qualifies a member cluster's observations: every name gets its cluster's name.

From here on, resources, sessions, uids and workload keys name their cluster, so that rounds,
sessions, versions and deletions are compared within one cluster only. Queues, quotas, flavors and
classes are those of the ledger's own cluster: a member's own are ignored.
"""

from __future__ import annotations

from msgspec.structs import replace

from tidegate.contracts import observations
from tidegate.core.members.placement import ACCEPTS
from tidegate.core.state.definition_kinds import FIELDS
from tidegate.errors import UndecodableError
from tidegate.model.clusters import AT, KINDS, NAMESPACES, PLACEABLE, RESOURCES, qualified
from tidegate.model.texts import is_name


def qualify_observation(
    observation: observations.Observation, cluster: str
) -> observations.Observation | None:
    """Return an observation of a member cluster with qualified names; None: it is ignored.

    Raises:
        UndecodableError: a name holds "@", or a job is of a kind that stays out of the ledger.
    """
    match observation:
        case observations.SyncStarted() | observations.SyncCompleted():
            return _qualify_sync(observation, cluster)
        case observations.Heartbeat():
            watched = tuple(
                _qualify_name(resource, cluster)
                for resource in observation.resources
                if resource in (*RESOURCES, NAMESPACES)
            )
            return replace(
                observation, session=_qualify_name(observation.session, cluster), resources=watched
            )
        case observations.JobObserved():
            return _qualify_job(observation, cluster)
        case observations.NamespaceObserved():
            return _qualify_namespace(observation, cluster)
        case observations.ObjectGone() if (
            observation.resource not in FIELDS or observation.resource == NAMESPACES
        ):
            return replace(
                observation,
                uid=_qualify_name(observation.uid, cluster),
                session=_qualify_name(observation.session, cluster),
                resource=_qualify_name(observation.resource, cluster),
            )
        case observations.ObjectRefused() if observation.resource in RESOURCES:
            return _qualify_refusal(observation, cluster)
        case observations.ActuationReported():
            return replace(
                observation,
                job=replace(
                    observation.job,
                    uid=_qualify_name(observation.job.uid, cluster),
                    cluster=cluster,
                ),
                workload=_qualify_name(observation.workload, cluster),
            )
        case _:
            return None


def _qualify_sync(
    observation: observations.SyncStarted | observations.SyncCompleted, cluster: str
) -> observations.SyncStarted | observations.SyncCompleted | None:
    if observation.resource not in (*RESOURCES, NAMESPACES):
        return None
    names = {
        "resource": _qualify_name(observation.resource, cluster),
        "session": _qualify_name(observation.session, cluster),
    }
    if isinstance(observation, observations.SyncStarted):
        return replace(observation, **names)
    present = tuple(_qualify_name(uid, cluster) for uid in observation.present)
    return replace(observation, present=present, **names)


def _qualify_namespace(
    namespace: observations.NamespaceObserved, cluster: str
) -> observations.NamespaceObserved:
    """Return a member's Namespace with the only label that counts here."""
    text = namespace.labels.get(ACCEPTS)
    return replace(
        namespace,
        name=_qualify_name(namespace.name, cluster),
        uid=_qualify_name(namespace.uid, cluster),
        session=_qualify_name(namespace.session, cluster),
        labels={} if text is None else {ACCEPTS: text},
    )


def _qualify_job(job: observations.JobObserved, cluster: str) -> observations.JobObserved:
    qualified_job = replace(
        job,
        uid=_qualify_name(job.uid, cluster),
        session=_qualify_name(job.session, cluster),
        workload=_qualify_name(job.workload, cluster),
    )
    if AT in job.namespace + job.name:
        raise UndecodableError(f"{job.namespace}/{job.name} is no name of Kubernetes")
    if job.copy is not None and not (is_name(job.namespace) and is_name(job.name)):
        name = f"{job.namespace[:80]!r}/{job.name[:80]!r}"
        raise UndecodableError(f"{name} is no name of Kubernetes")
    if problem := _unsupported_reason(job):
        raise UndecodableError(f"{job.namespace}/{job.name} in cluster {cluster}: {problem}")
    return qualified_job


def _unsupported_reason(job: observations.JobObserved) -> str:
    if job.kind not in KINDS:
        return f"{job.kind} of a member cluster is not supported"
    if job.elastic or job.replaces:
        return "elastic jobs of a member cluster are not supported"
    if job.prebuilt or job.variant_of:
        return "prebuilt Workloads and variants of a member cluster are not supported"
    if job.kind not in PLACEABLE and (job.copy is not None or job.body):
        return f"{job.kind} cannot run as a copy in another cluster"
    return ""


def _qualify_refusal(
    refusal: observations.ObjectRefused, cluster: str
) -> observations.ObjectRefused:
    return replace(
        refusal,
        uid=_qualify_name(refusal.uid, cluster),
        session=_qualify_name(refusal.session, cluster),
        resource=_qualify_name(refusal.resource, cluster),
        job=None if refusal.job is None else _qualify_job(refusal.job, cluster),
    )


def _qualify_name(name: str, cluster: str) -> str:
    if AT in name:
        raise UndecodableError(f"{name!r} holds the mark between a name and its cluster")
    return qualified(name, cluster)

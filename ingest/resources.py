"""The watched resources: one row each, from its path to the function that observes an object."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

import msgspec

from ingest import definitions
from ingest.jobs.job_index import JobIndex
from ingest.jobs.ownership import ResourceObservation
from ingest.jobs.placed import PlacedJobs, with_placed
from ingest.jobs.scope import Scope
from ingest.nodes.rows import Placement
from ingest.pods.descriptions import watch_both, watch_described
from ingest.pods.grace_periods import GraceRule, with_grace_periods
from ingest.pods.groups import PodGroups
from ingest.pods.referred_objects import PATH, RESOURCE, Claims, Named
from ingest.pods.serving import ServingSets
from ingest.watched_resource import WatchedResource
from tidegate.contracts.observations import Observed
from tidegate.jobs import workload
from tidegate.jobs.kind import JobKind
from tidegate.jobs.pods import pod, pod_group
from tidegate.jobs.registry import SETS
from tidegate.kinds import observed
from tidegate.kinds.kueue_api import checks, flavors
from tidegate.kinds.kueue_api.queues import objects
from tidegate.kinds.kueue_api.workloads.workload import Workload
from tidegate.kinds.names import API_VERSION, GROUP
from tidegate.kinds.pods import Pod

_KUEUE = f"/apis/{API_VERSION}"

Observe: TypeAlias = Callable[[Any], Observed]


def _defined(resource: str, path: str, kind: type[Any], observe: Observe) -> WatchedResource:
    return WatchedResource(
        resource=resource,
        path=path,
        kind=kind,
        observe=lambda obj: ((resource, observe(obj)),),
        timeless=True,
    )


def _kueue(plural: str, kind: type[Any], observe: Observe) -> WatchedResource:
    return _defined(f"{plural}.{GROUP}", f"{_KUEUE}/{plural}", kind, observe)


def _worker(plural: str, kind: type[Any], observe: Observe) -> WatchedResource:
    """Watch the MultiKueue objects, which only manager clusters have."""
    return msgspec.structs.replace(_kueue(plural, kind, observe), optional=True)


EVERYWHERE = Scope()
GRACE = GraceRule()
NO_DEVICES: Mapping[str, str] = {}
"""No device class is charged as a resource."""


def watched(
    kinds: Sequence[JobKind[Any]],
    scope: Scope = EVERYWHERE,
    device_classes: Mapping[str, str] = NO_DEVICES,
    placed: PlacedJobs | None = None,
    grace: GraceRule = GRACE,
) -> tuple[WatchedResource, ...]:
    """Return what an ingest of these job kinds watches; each call has a cache of its own.

    ``placed``: what is known of jobs that run in another cluster; None: none does. ``grace``:
    when pods that are being deleted count as gone. Workloads are always watched, for what they say
    of jobs; whether those that were made directly are jobs themselves is decided by the kind
    ``workload``.
    """
    claims = Claims(device_classes)
    index = JobIndex(kinds, scope, claims)
    sets = ServingSets(kinds, index)
    watched_jobs = (
        with_placed(
            with_grace_periods(_watched_job(kind, index, sets, grace), grace),
            kind,
            placed,
            index.parent,
        )
        for kind in kinds
        if kind.name not in _NOT_WATCHED
    )
    about = {
        row.path: row
        for kind in kinds
        for row in (watch_described(kind, plural, index) for plural in kind.referred_plurals)
    }
    jobs = [watch_both(about.pop(row.path, None), row) for row in watched_jobs]
    placement = Placement()
    return (
        *_definitions(scope),
        _flavors(placement),
        *placement.rows(),
        _namespaces(index),
        _workloads(index),
        _claim_templates(claims, index),
        *about.values(),
        *jobs,
    )


def _definitions(scope: Scope) -> tuple[WatchedResource, ...]:
    """Watch what decisions depend on, without jobs and without effect on jobs' observations."""
    local_queue = partial(definitions.local_queue, label_keys=scope.queue_labels)
    return (
        _kueue("clusterqueues", objects.ClusterQueue, definitions.cluster_queue),
        _kueue("cohorts", objects.Cohort, definitions.cohort),
        _kueue("localqueues", objects.LocalQueue, local_queue),
        _kueue(
            "workloadpriorityclasses",
            flavors.WorkloadPriorityClass,
            definitions.workload_priority_class,
        ),
        _kueue("admissionchecks", checks.AdmissionCheck, definitions.admission_check),
        _worker("multikueueclusters", checks.MultiKueueCluster, definitions.multikueue_cluster),
        _worker("multikueueconfigs", checks.MultiKueueConfig, definitions.multikueue_config),
        _defined(
            "limitranges", "/api/v1/limitranges", observed.LimitRange, definitions.limit_range
        ),
        _defined(
            "priorityclasses.scheduling.k8s.io",
            "/apis/scheduling.k8s.io/v1/priorityclasses",
            observed.PriorityClass,
            definitions.priority_class,
        ),
        _defined(
            "runtimeclasses.node.k8s.io",
            "/apis/node.k8s.io/v1/runtimeclasses",
            observed.RuntimeClass,
            definitions.runtime_class,
        ),
    )


_NOT_WATCHED = (workload.NAME, pod_group.NAME)
"""Kinds that are published by the watch of another resource."""


def _watched_job(
    kind: JobKind[Any], index: JobIndex, sets: ServingSets, grace: GraceRule
) -> WatchedResource:
    if kind.name in SETS:
        return _set(kind, index, sets)
    return _pods(index, sets, grace) if kind.name == pod.NAME else _job(kind, index)


def _set(kind: JobKind[Any], index: JobIndex, sets: ServingSets) -> WatchedResource:
    """Watch objects that are queued through their pods."""
    return msgspec.structs.replace(
        _job(kind, index),
        observe=partial(sets.observe, kind),
        gone=sets.remove,
        listed=partial(sets.listed_objects, kind),
        present=partial(sets.present, kind),
    )


def _pods(index: JobIndex, sets: ServingSets, grace: GraceRule) -> WatchedResource:
    groups, alone = PodGroups(index, grace.now_us), _job(pod.KIND, index)

    def observe(obj: Pod) -> Iterator[ResourceObservation]:
        uid, version = obj.metadata.uid, obj.metadata.version
        in_set = sets.has_active(obj) or (not groups.has_active(obj) and sets.is_member(obj))
        in_group = not in_set and (groups.has_active(obj) or groups.is_member(obj))
        if not in_group:
            yield from groups.forget(uid, version)
        if not in_set:
            sets.forget(uid, version)
        yield from (groups.add if in_group else sets.add if in_set else alone.observe)(obj)
        sets.note_pods_version(version)

    def gone(uid: str, version: int) -> Iterator[ResourceObservation]:
        sets.forget(uid, version)
        yield from groups.forget(uid, version)
        yield from alone.gone(uid, version)
        sets.note_pods_version(version)

    def listed(present: Collection[str], version: int) -> Iterator[ResourceObservation]:
        yield from sets.listed(present, version)
        yield from groups.listed(present, version)
        yield from alone.listed(present, version)

    def present(listed: Collection[str]) -> Iterable[str]:
        return (*listed, *groups.present())

    def changed_jobs() -> Iterator[ResourceObservation]:
        yield from sets.changed_jobs()
        yield from groups.changed_groups()

    return msgspec.structs.replace(
        alone,
        observe=observe,
        gone=gone,
        listed=listed,
        present=present,
        changed_jobs=changed_jobs,
        expired=groups.expired,
    )


def _job(kind: JobKind[Any], index: JobIndex) -> WatchedResource:
    return WatchedResource(
        resource=kind.resource,
        path=kind.path(),
        kind=kind.object_type,
        observe=lambda obj: index.job(kind, obj),
        unreadable=lambda meta, obj, why: index.malformed_job(kind, meta, obj, why),
        gone=lambda uid, _version: index.forget(uid),
        listed=lambda present, _version: index.listed_jobs(kind.resource, present),
        optional=kind.optional,
    )


def _claim_templates(claims: Claims, index: JobIndex) -> WatchedResource:
    """Watch objects that change jobs but have no observation of their own, such as templates."""

    def changed(templates: Iterable[Named | None]) -> Iterator[ResourceObservation]:
        for template in templates:
            yield from () if template is None else index.claimed(template)

    return WatchedResource(
        resource=RESOURCE,
        path=PATH,
        kind=observed.ResourceClaimTemplate,
        observe=lambda template: changed([claims.add(template)]),
        gone=lambda uid, _version: changed([claims.forget(uid)]),
        listed=lambda present, _version: changed(sorted(claims.listed(present))),
        optional=True,
        wide=True,
    )


def _flavors(placement: Placement) -> WatchedResource:
    row = _kueue("resourceflavors", flavors.ResourceFlavor, definitions.flavor)
    return msgspec.structs.replace(row, observe=placement.flavor)


def _namespaces(index: JobIndex) -> WatchedResource:
    resource = "namespaces"

    def observe(namespace: observed.Namespace) -> Iterator[ResourceObservation]:
        yield resource, definitions.namespace(namespace)
        yield from index.namespace(namespace)

    def gone(uid: str, _version: int) -> Iterable[ResourceObservation]:
        index.namespaces.forget(uid)
        return ()

    def listed(present: Collection[str], _version: int) -> Iterable[ResourceObservation]:
        index.namespaces.retain(present)
        return ()

    return WatchedResource(
        resource=resource,
        path="/api/v1/namespaces",
        kind=observed.Namespace,
        observe=observe,
        gone=gone,
        listed=listed,
    )


def _workloads(index: JobIndex) -> WatchedResource:
    resource = workload.KIND.resource

    return WatchedResource(
        resource=resource,
        path=workload.KIND.path(),
        kind=Workload,
        observe=index.workload,
        gone=lambda uid, _version: index.forget(uid),
        listed=lambda present, _version: index.listed_workloads(present),
        present=index.present_workloads,
    )

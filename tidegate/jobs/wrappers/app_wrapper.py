"""AppWrapper: objects of any kind that start and stop together; suspended by ``spec.suspend``.

A start writes ``podSetInfos`` beside each component; AppWrapper's controller merges it
into the components as it creates them.

Podsets: ``<name>-<n>``: what its components declare in ``podSets``, else what Pods, Deployments,
StatefulSets, Jobs, JobSets, PyTorchJobs, RayClusters and RayJobs have, and never fewer than that
Restored: ``podSetInfos``
Put in: node labels, tolerations, labels and annotations, in ``podSetInfos`` of each component
Topology: by the label that the component declares

Source: behaviour.md 16, AppWrapper.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from tidegate.contracts.decisions import PodSetStart
from tidegate.errors import UndecodableError
from tidegate.jobs.job_status import JobStatus, Layout, PodSetLocation
from tidegate.jobs.kind import Object
from tidegate.jobs.suspended_kind import suspended_kind
from tidegate.jobs.templates.paths import (
    Path,
    list_at,
    number_at,
    parse_path,
    text_at,
    true_condition,
    value_at,
    with_value,
)
from tidegate.jobs.templates.template import as_fields
from tidegate.jobs.wrappers.wrapped import as_template, inferred_podsets, template_sizes
from tidegate.kinds.kueue_api.workloads.topologies import PodIndex
from tidegate.kinds.policies.frameworks import framework
from tidegate.model.texts import INT32_MAX, parse_whole

_COMPONENTS = ("spec", "components")
_INDEX = "workload.codeflare.dev.appwrapper/tas-pod-index-label"
_GROUP_INDEX = "workload.codeflare.dev.appwrapper/tas-sub-group-index-label"
_GROUPS = "workload.codeflare.dev.appwrapper/tas-sub-group-count"


def podset_locations(obj: Object) -> tuple[PodSetLocation, ...]:
    """Return the podsets of all components, numbered in their order."""
    name = text_at(obj, ("metadata", "name"))
    components = [place for places in _by_component(obj) for place in places]
    return tuple(replace(place, name=f"{name}-{at}") for at, place in enumerate(components))


def status_of(obj: Object) -> JobStatus:
    """Return how an AppWrapper stands; one that failed is over once its components are gone."""
    phase = text_at(obj, ("status", "phase"))
    deployed = true_condition(obj, ("ResourcesDeployed",)) is not None
    finished, message = "", ""
    if phase == "Succeeded":
        finished, message = "Succeeded", "AppWrapper finished successfully"
    elif phase == "Failed" and not deployed:
        finished, message = "Failed", "AppWrapper failed"
    return JobStatus(
        finished=finished,
        message=message,
        active=int(true_condition(obj, ("QuotaReserved",)) is not None),
        ready=true_condition(obj, ("PodsReady",)) is not None,
    )


def inject(obj: Object, podsets: Mapping[str, PodSetStart]) -> Object:
    """Return an AppWrapper with what each podset is given beside its component."""
    name, at = text_at(obj, ("metadata", "name")), 0
    for component, places in enumerate(_by_component(obj)):
        infos = [as_fields(podsets[f"{name}-{at + nth}"]) for nth in range(len(places))]
        at += len(places)
        if infos:
            obj = with_value(obj, (*_COMPONENTS, component, "podSetInfos"), infos)
    return obj


def overwritten_paths(obj: Object) -> tuple[Path, ...]:
    """Return where ``inject`` writes."""
    count = len(list_at(obj, _COMPONENTS))
    return tuple((*_COMPONENTS, at, "podSetInfos") for at in range(count))


def _by_component(obj: Object) -> list[tuple[PodSetLocation, ...]]:
    return [_component_podsets(component) for component in list_at(obj, _COMPONENTS)]


def _component_podsets(component: Object) -> tuple[PodSetLocation, ...]:
    """Return what a component declares, else what its kind is known to have.

    Raises:
        UndecodableError: its kind is known to have other templates than it declares.
    """
    declared = list_at(component, ("podSets",))
    wrapped = value_at(component, ("template",))
    if not isinstance(wrapped, dict):
        wrapped = {}
    if not declared:
        return inferred_podsets(wrapped)
    templates = [value_at(component, _declared_path(podset)) for podset in declared]
    pods = template_sizes(wrapped)
    if pods and pods.keys() != set(map(id, templates)):
        kind = text_at(wrapped, ("kind",))
        raise UndecodableError(f"podSets: they are not the pod templates of this {kind[:80]}.")
    return tuple(
        PodSetLocation(
            name="",
            count=max(number_at(podset, ("replicas",), 1), pods.get(id(template), 0)),
            built=as_template(template),
            index=_index(podset),
        )
        for podset, template in zip(declared, templates, strict=True)
    )


def _declared_path(declared: Object) -> Path:
    """Return the path to a declared template: ``template.spec.replicatedJobs[0].template``."""
    return parse_path(text_at(declared, ("path",)).replace("[", ".").replace("]", ""))


def _index(declared: Object) -> PodIndex | None:
    declared_annotations = value_at(declared, ("annotations",)) or {}
    label, group = declared_annotations.get(_INDEX, ""), declared_annotations.get(_GROUP_INDEX, "")
    groups = parse_whole(declared_annotations.get(_GROUPS, "0"), INT32_MAX) or 0
    return PodIndex(label=label, group_label=group, groups=groups) if label else None


KIND = suspended_kind(
    framework("workload.codeflare.dev/appwrapper"),
    Layout(
        podset_locations=podset_locations,
        status_of=status_of,
        inject=inject,
        overwritten_paths=overwritten_paths,
        former_values=lambda obj: tuple((path, None) for path in overwritten_paths(obj)),
    ),
)

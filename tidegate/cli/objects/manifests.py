"""Manifests in files to the facts that a ledger has of them: quota objects, and policy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from ingest import definitions as observe
from tidegate.contracts import facts
from tidegate.errors import SettingsError, UndecodableError, reason_of
from tidegate.kinds import observed
from tidegate.kinds.decode import read
from tidegate.kinds.kueue_api.checks import AdmissionCheck
from tidegate.kinds.kueue_api.flavors import ResourceFlavor, WorkloadPriorityClass
from tidegate.kinds.kueue_api.queues.objects import ClusterQueue, Cohort, LocalQueue
from tidegate.replay.simulator.changes import Defined
from tidegate.service.config.configuration import parse_configuration
from tidegate.service.config.yaml_documents import parse_yaml


class ManifestKind(NamedTuple):
    """One kind of object that can be given."""

    seen: type[Any]
    observe: Callable[[Any], Any]
    defined: type[Any]
    namespaced: bool = False


KINDS = {
    "ClusterQueue": ManifestKind(ClusterQueue, observe.cluster_queue, facts.ClusterQueueDefined),
    "Cohort": ManifestKind(Cohort, observe.cohort, facts.CohortDefined),
    "LocalQueue": ManifestKind(
        LocalQueue, observe.local_queue, facts.LocalQueueDefined, namespaced=True
    ),
    "ResourceFlavor": ManifestKind(ResourceFlavor, observe.flavor, facts.FlavorDefined),
    "WorkloadPriorityClass": ManifestKind(
        WorkloadPriorityClass, observe.workload_priority_class, facts.WorkloadPriorityClassDefined
    ),
    "AdmissionCheck": ManifestKind(AdmissionCheck, observe.admission_check, facts.CheckDefined),
    "PriorityClass": ManifestKind(
        observed.PriorityClass, observe.priority_class, facts.PriorityClassDefined
    ),
    "Namespace": ManifestKind(observed.Namespace, observe.namespace, facts.NamespaceDefined),
    "LimitRange": ManifestKind(
        observed.LimitRange, observe.limit_range, facts.LimitRangeDefined, namespaced=True
    ),
    "RuntimeClass": ManifestKind(
        observed.RuntimeClass, observe.runtime_class, facts.RuntimeClassDefined
    ),
}
CONFIGURATION = "Configuration"


class Manifests(NamedTuple):
    """The content of the files."""

    objects: tuple[Defined, ...]
    policy: facts.PolicyConfigured | None


def read_manifests(paths: list[Path]) -> Manifests:
    """Read files of Kueue's objects, Kubernetes' own that matter, and Kueue's Configuration.

    Admission checks are taken for active: their controllers are not asked.

    Raises:
        SettingsError: a file cannot be read, or has unknown fields; the message says where.
    """
    objects, policy = list[Defined](), None
    for path in paths:
        for where, raw in read_documents(path):
            if raw.get("kind") == CONFIGURATION:
                text = msgspec.yaml.encode(raw).decode()
                configured = parse_configuration(text).policy
                policy = facts.PolicyConfigured(at_us=0, name="configuration", policy=configured)
            else:
                objects.append(_defined_object(where, raw))
    return Manifests(tuple(objects), policy)


def read_documents(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the objects of a YAML file, those of a List one by one, with where they stand.

    Raises:
        SettingsError: it cannot be read or is no YAML of objects.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} cannot be read: {reason_of(error)}.") from error
    for number, document in enumerate(parse_yaml(text, str(path)), 1):
        if document is None:
            continue
        where = f"{path}, document {number}"
        if not isinstance(document, dict):
            raise SettingsError(f"{where}: an object was expected, not {type(document).__name__}.")
        items = document.get("items") if str(document.get("kind", "")).endswith("List") else None
        for obj in items if isinstance(items, list) else [document]:
            yield where, obj


def _defined_object(where: str, raw: dict[str, Any]) -> Defined:
    kind, meta = str(raw.get("kind", "")), raw.get("metadata") or {}
    row = KINDS.get(kind)
    if row is None:
        raise SettingsError(
            f"{where}: kind {kind or '(none)'} gives no quota. There are: "
            f"{', '.join((*KINDS, CONFIGURATION))}."
        )
    name = meta.get("name") or ""
    if not name:
        raise SettingsError(f"{where}: {kind} has no metadata.name.")
    if row.namespaced and not meta.get("namespace"):
        raise SettingsError(f"{where}: {kind} {name} has no metadata.namespace.")
    try:
        observed = row.observe(read(raw, row.seen))
    except UndecodableError as error:
        raise SettingsError(f"{where}: {kind} {name}: {error}") from error
    content = {
        field: getattr(observed, field)
        for field in row.defined.__struct_fields__
        if field != "at_us"
    }
    defined: Defined = row.defined(at_us=0, **content)
    if isinstance(defined, facts.CheckDefined):
        defined = replace(defined, active=True)
    return replace(defined, uid=defined.uid or f"{kind}/{name}", version=0)

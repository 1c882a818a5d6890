"""The resources of the embedded server: one row each, and those that CRDs add at run time."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import msgspec

Schema = dict[str, Any]


class Resource(msgspec.Struct, frozen=True, kw_only=True):
    """One resource in one version, as a path names it."""

    group: str = ""
    version: str = "v1"
    plural: str
    kind: str
    namespaced: bool = True
    status: bool = False  # has the subresource status
    generation: bool = False  # counts changes of its spec
    fields: tuple[str, ...] = ()  # field selectors beside metadata.name and metadata.namespace
    short_names: tuple[str, ...] = ()
    schema: Schema | None = None  # of a CRD; built-in kinds have their own rules
    stored_version: str = ""  # the version that objects are kept in; empty: this one

    @property
    def key(self) -> str:
        """Return the resource's name whatever the version: ``jobs.batch``, ``pods``."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def api_version(self) -> str:
        """Return the group and version as objects write them: ``batch/v1``, ``v1``."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def stored_api_version(self) -> str:
        """Return the ``apiVersion`` that objects are kept with."""
        return f"{self.group}/{self.stored_version}" if self.stored_version else self.api_version

    @property
    def custom(self) -> bool:
        """Return whether a CRD made it."""
        return self.schema is not None


_cluster = partial(Resource, namespaced=False)


_POD_FIELDS = ("spec.nodeName", "status.phase", "spec.schedulerName")
_EVENT_FIELDS = ("involvedObject.kind", "involvedObject.name", "involvedObject.uid", "reason")
_ADMISSION, _RBAC = "admissionregistration.k8s.io", "rbac.authorization.k8s.io"

NAMESPACES = _cluster(
    plural="namespaces",
    kind="Namespace",
    status=True,
    fields=("status.phase",),
    short_names=("ns",),
)
NODES = _cluster(plural="nodes", kind="Node", status=True, short_names=("no",))
PODS = Resource(
    plural="pods",
    kind="Pod",
    status=True,
    generation=True,
    fields=_POD_FIELDS,
    short_names=("po",),
)
EVENTS = Resource(plural="events", kind="Event", fields=_EVENT_FIELDS, short_names=("ev",))
JOBS = Resource(
    group="batch",
    plural="jobs",
    kind="Job",
    status=True,
    generation=True,
    fields=("status.successful",),
)
CRDS = _cluster(
    group="apiextensions.k8s.io",
    plural="customresourcedefinitions",
    kind="CustomResourceDefinition",
    status=True,
    generation=True,
    short_names=("crd", "crds"),
)
PRIORITY_CLASSES = _cluster(
    group="scheduling.k8s.io", plural="priorityclasses", kind="PriorityClass", short_names=("pc",)
)
POLICIES = _cluster(
    group=_ADMISSION,
    plural="mutatingadmissionpolicies",
    kind="MutatingAdmissionPolicy",
    generation=True,
)
POLICY_BINDINGS = _cluster(
    group=_ADMISSION,
    plural="mutatingadmissionpolicybindings",
    kind="MutatingAdmissionPolicyBinding",
    generation=True,
)
VALIDATING_POLICIES = _cluster(
    group=_ADMISSION,
    plural="validatingadmissionpolicies",
    kind="ValidatingAdmissionPolicy",
    status=True,
    generation=True,
)
VALIDATING_BINDINGS = _cluster(
    group=_ADMISSION,
    plural="validatingadmissionpolicybindings",
    kind="ValidatingAdmissionPolicyBinding",
    generation=True,
)

BUILT_IN = (
    NAMESPACES,
    NODES,
    PODS,
    Resource(plural="configmaps", kind="ConfigMap", short_names=("cm",)),
    Resource(plural="secrets", kind="Secret"),
    Resource(plural="serviceaccounts", kind="ServiceAccount", short_names=("sa",)),
    Resource(plural="podtemplates", kind="PodTemplate", generation=True),
    Resource(plural="limitranges", kind="LimitRange", short_names=("limits",)),
    EVENTS,
    JOBS,
    CRDS,
    PRIORITY_CLASSES,
    POLICIES,
    POLICY_BINDINGS,
    VALIDATING_POLICIES,
    VALIDATING_BINDINGS,
    Resource(group="coordination.k8s.io", plural="leases", kind="Lease"),
    _cluster(group="node.k8s.io", plural="runtimeclasses", kind="RuntimeClass"),
    Resource(group=_RBAC, plural="roles", kind="Role"),
    Resource(group=_RBAC, plural="rolebindings", kind="RoleBinding"),
    _cluster(group=_RBAC, plural="clusterroles", kind="ClusterRole"),
    _cluster(group=_RBAC, plural="clusterrolebindings", kind="ClusterRoleBinding"),
    _cluster(group="resource.k8s.io", plural="deviceclasses", kind="DeviceClass", generation=True),
)


class Catalog:
    """Every resource that is served now; CRDs come and go."""

    def __init__(self) -> None:
        self._rows = {(row.group, row.version, row.plural): row for row in BUILT_IN}
        self._stored = {row.key: row for row in BUILT_IN}

    def find(self, group: str, version: str, plural: str) -> Resource | None:
        """Return what a path means, or None."""
        return self._rows.get((group, version, plural))

    def stored_as(self, key: str) -> Resource | None:
        """Return a resource in the version that its objects are kept in, or None."""
        return self._stored.get(key)

    def stored(self) -> Iterator[Resource]:
        """Yield each resource once, in the version that its objects are kept in."""
        yield from self._stored.values()

    def all(self) -> Iterator[Resource]:
        """Yield every resource in every version, in the order of their arrival."""
        yield from self._rows.values()

    def put(self, rows: tuple[Resource, ...]) -> None:
        """Serve these versions of one resource, and no other version of it."""
        self.drop(rows[0].key)
        self._rows |= {(row.group, row.version, row.plural): row for row in rows}
        self._stored |= {row.key: row for row in rows if row.version == row.stored_version}

    def drop(self, key: str) -> None:
        """Serve a resource no longer."""
        self._rows = {at: row for at, row in self._rows.items() if row.key != key}
        self._stored.pop(key, None)

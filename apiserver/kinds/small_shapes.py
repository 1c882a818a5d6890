"""The types of the fields of the smaller built-in kinds; see ``shapes``."""

from __future__ import annotations

from apiserver.kinds.shapes import AnyObject, Job, Metadata, Node, Pod, Quantities, Shape


class NamespaceSpec(Shape, frozen=True):
    """The finalizers of a namespace."""

    finalizers: list[str] = []


class Namespace(Shape, frozen=True):
    """A namespace."""

    metadata: Metadata = Metadata()
    spec: NamespaceSpec = NamespaceSpec()


class Limit(Shape, frozen=True):
    """One limit of a LimitRange."""

    type: str = ""
    default: Quantities = {}
    default_request: Quantities = {}
    min: Quantities = {}
    max: Quantities = {}
    max_limit_request_ratio: Quantities = {}


class LimitRangeSpec(Shape, frozen=True):
    """The limits of a LimitRange."""

    limits: list[Limit] = []


class LimitRange(Shape, frozen=True):
    """A LimitRange."""

    metadata: Metadata = Metadata()
    spec: LimitRangeSpec = LimitRangeSpec()


class PriorityClass(Shape, frozen=True):
    """A PriorityClass."""

    metadata: Metadata = Metadata()
    value: int = 0
    global_default: bool = False
    preemption_policy: str = ""


class ParamRef(Shape, frozen=True):
    """A reference to the parameter of a policy."""

    name: str = ""


class BindingSpec(Shape, frozen=True):
    """A binding of a policy to its parameter."""

    policy_name: str = ""
    param_ref: ParamRef = ParamRef()


class PolicyBinding(Shape, frozen=True):
    """A MutatingAdmissionPolicyBinding."""

    metadata: Metadata = Metadata()
    spec: BindingSpec = BindingSpec()


class RootSchema(Shape, frozen=True, rename=None):
    """The schema of one version, looked into by ``apiserver.schema`` only."""

    openAPIV3Schema: dict[str, object] = {}  # noqa: N815 - the name on the wire


class Version(Shape, frozen=True):
    """One version of a CRD."""

    name: str
    served: bool
    storage: bool
    schema: RootSchema = RootSchema()
    subresources: dict[str, dict[str, object]] = {}


class Names(Shape, frozen=True):
    """The names of a CRD's resource."""

    plural: str = ""
    singular: str = ""
    kind: str = ""
    list_kind: str = ""
    short_names: list[str] = []


class Conversion(Shape, frozen=True):
    """The conversion between a CRD's versions."""

    strategy: str = ""


class DefinitionSpec(Shape, frozen=True):
    """The spec of a CRD."""

    group: str = ""
    scope: str = ""
    names: Names = Names()
    versions: list[Version] = []
    conversion: Conversion = Conversion()


class Definition(Shape, frozen=True):
    """A CustomResourceDefinition."""

    metadata: Metadata = Metadata()
    spec: DefinitionSpec = DefinitionSpec()


_SHAPES: dict[str, type[Shape]] = {
    "jobs.batch": Job,
    "pods": Pod,
    "nodes": Node,
    "namespaces": Namespace,
    "limitranges": LimitRange,
    "priorityclasses.scheduling.k8s.io": PriorityClass,
    "mutatingadmissionpolicybindings.admissionregistration.k8s.io": PolicyBinding,
    "customresourcedefinitions.apiextensions.k8s.io": Definition,
}


def shape_of(key: str) -> type[Shape]:
    """Return the types of a resource's fields."""
    return _SHAPES.get(key, AnyObject)

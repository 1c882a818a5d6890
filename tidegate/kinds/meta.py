"""Fields of every Kubernetes object: metadata, conditions, selectors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal, Protocol, TypeAlias, TypeVar

import msgspec

from tidegate.kinds.markers import (
    Int64,
    Label,
    Time,
    map_list,
    required_for_writers,
    schema_keywords,
)
from tidegate.model.texts import parse_whole

_ORPHANING = "orphan"
"""The finalizer of an object whose dependents the garbage collector is to orphan."""


class ApiType(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Root of the types of a Kubernetes API: names in camelCase, defaults left out."""


class OwnerReference(ApiType, frozen=True, kw_only=True):
    """A reference to the owner of an object."""

    api_version: str = ""
    kind: str
    name: str
    uid: str = ""
    controller: bool = False
    block_owner_deletion: bool = False


class ObjectMeta(ApiType, frozen=True, kw_only=True):
    """The metadata that Tidegate reads or writes."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()

    @property
    def version(self) -> int:
        """Return resourceVersion as the integer that it is compared as; 0 if there is none."""
        return parse_whole(self.resource_version) or 0

    @property
    def is_deleted_without_grace(self) -> bool:
        """Tell whether it was deleted without a time to end: only a finalizer keeps the object."""
        return self.is_deleting and self.deletion_grace_period_seconds == 0

    @property
    def is_deleting(self) -> bool:
        """Return whether deletion was requested."""
        return self.deletion_timestamp is not None

    @property
    def is_orphaning(self) -> bool:
        """Return whether it is deleted with propagation Orphan, which keeps its dependents."""
        return self.is_deleting and _ORPHANING in self.finalizers

    def controller(self) -> OwnerReference | None:
        """Return the owner that controls the object, if one does."""
        owners = self.owner_references
        return next((owner for owner in owners if owner.controller), None) if owners else None


class ApiObject(ApiType, frozen=True, kw_only=True):
    """Root of the kinds: what every object has."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = ObjectMeta()


class Condition(ApiType, frozen=True, kw_only=True):
    """One condition of a status."""

    type: Label
    status: Literal["True", "False", "Unknown"]
    observed_generation: Annotated[int, schema_keywords(format="int64", minimum=0)] = 0
    last_transition_time: Annotated[Time, required_for_writers()] = ""
    reason: Annotated[
        str,
        required_for_writers(
            minLength=1, maxLength=1024, pattern=r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"
        ),
    ] = ""
    message: Annotated[str, required_for_writers(maxLength=32768)] = ""


class _HasCondition(Protocol):
    @property
    def type(self) -> str: ...
    @property
    def status(self) -> str: ...


Telling = TypeVar("Telling", bound=_HasCondition)


def true_condition(conditions: Iterable[Telling], kind: str) -> Telling | None:
    """Return the condition of a type if it is true."""
    return next(
        (
            condition
            for condition in conditions
            if condition.type == kind and condition.status == "True"
        ),
        None,
    )


Conditions: TypeAlias = Annotated[tuple[Condition, ...], map_list("type", most=16)]


class SelectorRequirement(ApiType, frozen=True, kw_only=True):
    """One expression of a label selector or of a node selector term."""

    key: str
    operator: str
    values: Annotated[tuple[str, ...], schema_keywords(**{"x-kubernetes-list-type": "atomic"})] = ()


class LabelSelector(ApiType, frozen=True, kw_only=True):
    """A label selector as written."""

    match_labels: dict[str, str] = {}
    match_expressions: Annotated[
        tuple[SelectorRequirement, ...], schema_keywords(**{"x-kubernetes-list-type": "atomic"})
    ] = ()


class Status(ApiType, frozen=True, kw_only=True):
    """The API server's answer that is not the object asked for."""

    status: str = ""
    message: str = ""
    reason: str = ""
    code: int = 0


class ListMeta(ApiType, frozen=True, kw_only=True):
    """Where a list stands."""

    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")
    remaining_item_count: Int64 | None = None

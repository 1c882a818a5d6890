"""A type's markers beyond its fields: bounds, list keys and rules of the API server.

Bounds stand in ``extra_json_schema``, which msgspec carries but does not enforce: the API server
judges what people write, and an object that it once took must stay readable for ever.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import msgspec

from tidegate.model.texts import QUALIFIED_PATTERN

NAME_PATTERN = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
LABEL_PATTERN = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
QUANTITY_PATTERN = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
    r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)
NEEDED = "x-needed"
"""Keyword of a mark that stands for "required" and appears in no schema."""


class Rule(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """A CEL rule of a CRD and the sentence that a refused writer reads."""

    rule: str
    message: str
    field_path: str = ""  # which field below the ruled one the message is about, e.g. ".levels"


def schema_keywords(**schema: object) -> msgspec.Meta:
    """Return a mark with JSON schema keywords, e.g. ``schema_keywords(maxLength=63)``."""
    return msgspec.Meta(extra_json_schema=schema)


def with_rules(*rules: Rule, **schema: object) -> msgspec.Meta:
    """Return a mark with CEL rules, and further keywords."""
    written: list[dict[str, Any]] = [msgspec.to_builtins(rule) for rule in rules]
    return schema_keywords(**{"x-kubernetes-validations": written}, **schema)


def required_for_writers(**schema: object) -> msgspec.Meta:
    """Return the mark of a field that writers must give, though readers do without it."""
    return schema_keywords(**{NEEDED: True}, **schema)


def map_list(*keys: str, most: int = 0, least: int = 0) -> msgspec.Meta:
    """Return the mark of a list that is a map by these fields; ``most`` 0: of any length."""
    kind = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)}
    upper = {"maxItems": most} if most else {}
    return schema_keywords(**upper, **kind, **({"minItems": least} if least else {}))


def list_of_type(form: str, most: int, least: int = 0) -> msgspec.Meta:
    """Return the mark of a list of form ``atomic`` or ``set``."""
    kind = {"x-kubernetes-list-type": form}
    return schema_keywords(maxItems=most, **kind, **({"minItems": least} if least else {}))


Quantity: TypeAlias = Annotated[
    str | int | float,
    schema_keywords(**{"x-kubernetes-int-or-string": True, "pattern": QUANTITY_PATTERN}),
]
"""As written: a CRD keeps ``cpu: 2`` a number; read it with ``translate.written``."""
Label: TypeAlias = Annotated[
    str,
    schema_keywords(
        minLength=1,
        maxLength=316,
        pattern=QUALIFIED_PATTERN,
    ),
]
"""The qualified key of a label, e.g. ``kubernetes.io/hostname``."""
Name: TypeAlias = Annotated[str, schema_keywords(maxLength=253, pattern=NAME_PATTERN)]
"""A reference to an object by its DNS subdomain name."""
PodSetName: TypeAlias = Annotated[str, schema_keywords(maxLength=63, pattern=LABEL_PATTERN)]
CheckName: TypeAlias = Annotated[str, schema_keywords(minLength=1, maxLength=316)]
Int32: TypeAlias = Annotated[int, schema_keywords(format="int32")]
Int64: TypeAlias = Annotated[int, schema_keywords(format="int64")]
Count: TypeAlias = Annotated[int, schema_keywords(format="int32", minimum=0)]
Time: TypeAlias = Annotated[str, schema_keywords(format="date-time")]
"""RFC 3339 text; ``tidegate.kinds.meta`` reads and writes it."""

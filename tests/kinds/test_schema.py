"""Types as structural schemas: what of a Struct becomes which keyword."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import msgspec
import pytest

from tidegate.kinds.crds import crds
from tidegate.kinds.kueue_api.v1beta2 import KINDS
from tidegate.kinds.markers import (
    Quantity,
    Rule,
    map_list,
    required_for_writers,
    schema_keywords,
    with_rules,
)
from tidegate.kinds.schema import struct_schema


class Inner(msgspec.Struct, frozen=True, rename="camel"):
    """Something inside.

    With more to say.
    """

    some_mode: Literal["On", "Off"] = "On"


class Outer(msgspec.Struct, frozen=True, rename="camel"):
    """Something."""

    rules: ClassVar[tuple[Rule, ...]] = (Rule("self.a", "b", ".c"),)
    open: ClassVar[bool] = True
    must_be: int
    should_be: Annotated[str, required_for_writers(maxLength=3)] = ""
    inner: Inner = Inner()
    maybe: Inner | None = None
    items: Annotated[tuple[Inner, ...], map_list("someMode", most=4, least=1)] = ()
    labels: dict[str, Annotated[str, schema_keywords(maxLength=63)]] = {}
    anything: dict[str, Any] = {}
    amount: Annotated[Quantity, with_rules(Rule("self > 0", "positive"))] = 1
    switched: bool = True


INNER = {
    "description": "Something inside.\n\nWith more to say.",
    "type": "object",
    "properties": {"someMode": {"type": "string", "enum": ["Off", "On"], "default": "On"}},
}
SCHEMA = struct_schema(Outer, {})
FIELDS = SCHEMA["properties"]


def test_what_has_no_default_is_required_and_what_is_marked_too() -> None:
    assert SCHEMA["required"] == ["mustBe", "shouldBe"]
    assert FIELDS["shouldBe"] == {"type": "string", "maxLength": 3}


def test_a_default_that_says_something_is_the_api_servers_too() -> None:
    assert FIELDS["inner"] == INNER | {"default": {}}
    assert FIELDS["maybe"] == INNER
    assert FIELDS["switched"] == {"type": "boolean", "default": True}
    assert "default" not in FIELDS["labels"]


def test_a_list_may_be_a_map() -> None:
    assert FIELDS["items"] == {
        "type": "array",
        "items": INNER,
        "minItems": 1,
        "maxItems": 4,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["someMode"],
    }


def test_maps_and_quantities_have_their_own_forms() -> None:
    assert FIELDS["labels"]["additionalProperties"] == {"type": "string", "maxLength": 63}
    assert FIELDS["anything"] == {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    assert FIELDS["amount"]["anyOf"] == [{"type": "integer"}, {"type": "string"}]
    assert FIELDS["amount"]["x-kubernetes-validations"] == [
        {"rule": "self > 0", "message": "positive"}
    ]


def test_a_type_may_have_rules_and_keep_unknown_fields() -> None:
    rule = {"rule": "self.a", "message": "b", "fieldPath": ".c"}
    assert SCHEMA["x-kubernetes-validations"] == [rule]
    assert SCHEMA["x-kubernetes-preserve-unknown-fields"] is True


def test_older_spellings_are_added_to_what_a_type_has() -> None:
    more: dict[type, dict[str, dict[str, Any]]] = {
        Inner: {"someMode": {"enum": ["On", "Yes"]}, "mode": {"type": "string"}}
    }
    fields = struct_schema(Outer, more)["properties"]["maybe"]["properties"]
    assert fields["someMode"]["enum"] == ["On", "Yes"]
    assert fields["mode"] == {"type": "string"}


def test_a_type_without_a_form_is_an_error() -> None:
    class Strange(msgspec.Struct):
        value: complex = 0j

    with pytest.raises(TypeError):
        struct_schema(Strange, {})


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_both_versions_are_served_with_one_schema_and_the_newer_is_stored(kind: Any) -> None:  # noqa: ANN401
    (crd,) = [crd for crd in crds() if crd["spec"]["names"]["kind"] == kind.name]
    newer, older, *refusing = crd["spec"]["versions"]
    refused = [] if kind.name == "Workload" else ["v1alpha1"]  # there are too many Workloads
    assert [version["name"] for version in refusing] == refused
    assert [version["name"] for version in (newer, older)] == ["v1beta2", "v1beta1"]
    assert [version["name"] for version in crd["spec"]["versions"] if version["storage"]] == [
        "v1beta2"
    ]
    assert newer["schema"] == older["schema"]
    assert crd["spec"]["conversion"] == {"strategy": "None"}


def test_crds_without_rules_hold_none() -> None:
    assert "x-kubernetes-validations" in str(crds())
    assert "x-kubernetes-validations" not in str(crds(rules=False))
    versions = [version["name"] for crd in crds(rules=False) for version in crd["spec"]["versions"]]
    assert set(versions) == {"v1beta1", "v1beta2"}

"""Job kinds that a configuration declares: what is read, and what makes no sense."""

from __future__ import annotations

import pytest

from tests.parts.foreign import CONFIGURATION
from tidegate.errors import SettingsError
from tidegate.service.config.configuration import parse_configuration, read_configuration

HEAD = """apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
integrations: {externalFrameworks: [A.v1.example.com]}
tidegate.dev:
  kinds:
  - """
GOOD = {
    "name": "A.v1.example.com",
    "suspend": "spec.suspend",
    "podSets": "[{template: spec.template}]",
    "finished": "[{when: {condition: Done}, outcome: Succeeded}]",
    "active": "{path: status.active}",
}


def declared(**changed: str) -> str:
    fields = {**GOOD, **changed}
    return HEAD + "{" + ", ".join(f"{key}: {value}" for key, value in fields.items()) + "}\n"


def test_what_is_listed_and_declared_is_enabled() -> None:
    declarations = read_configuration(str(CONFIGURATION)).declared
    assert [
        (declaration.kind, declaration.version, declaration.group, declaration.resource)
        for declaration in declarations
    ] == [
        ("Voyage", "v1", "ships.example.com", "voyages"),
        ("MiniCluster", "v1alpha2", "flux-framework.org", "miniclusters"),
    ]


def test_what_is_declared_and_not_listed_is_not_enabled() -> None:
    text = declared().replace("integrations: {externalFrameworks: [A.v1.example.com]}\n", "")
    assert parse_configuration(text).declared == ()


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"suspend": "status.suspend"}, "no field of the spec"),
        ({"suspend": "spec.0.suspend"}, "no field of the spec"),
        ({"podSets": "[]"}, "nothing would run"),
        ({"podSets": "[{template: spec.t, parts: {containers: spec.c}}]"}, "either template or"),
        ({"podSets": "[{}]"}, "either template or parts"),
        ({"podSets": "[{parts: {labels: spec.l}}]"}, "where the containers are"),
        ({"podSets": "[{template: metadata.annotations}]"}, "does not lead into"),
        ({"podSets": "[{template: spec.t, size: 3}]"}, "unknown field `size`"),
        ({"active": "{}"}, "either condition or path"),
        ({"active": "{condition: A, path: status.a}"}, "either condition or path"),
        ({"finished": "[{when: {condition: D}, outcome: Maybe}]"}, "Maybe"),
        ({"name": "A"}, "Kind.version.group"),
        ({"priorityClass": "spec"}, "does not lead into"),
    ],
)
def test_a_declaration_that_makes_no_sense_is_refused(changed: dict[str, str], text: str) -> None:
    with pytest.raises(SettingsError, match=text):
        parse_configuration(declared(**changed))

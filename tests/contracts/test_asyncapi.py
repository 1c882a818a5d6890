"""The documents of the contract say what the code does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import msgspec
import pytest

from tidegate.bus.headers import event_headers
from tidegate.bus.streams import StreamOptions, stream_names
from tidegate.contracts.decisions import Decision, QuotaReserved, WorkloadPending
from tidegate.contracts.documents.asyncapi import EVENTS as EVENTS_STREAM
from tidegate.contracts.documents.asyncapi import asyncapi
from tidegate.contracts.documents.schema import (
    decisions,
    facts,
    field_comments,
    json_schema,
    name_of,
    observations,
    subject_of,
    tag_of,
)
from tidegate.contracts.entry import Entry, Position
from tidegate.contracts.facts import Event
from tidegate.contracts.subjects import event_subject as published_on

DOCUMENT = asyncapi("1.2.3")
EVENTS = (*facts(), *decisions())


def references(result: Any) -> Iterator[str]:  # noqa: ANN401 - any part of a document
    for key, value in result.items() if isinstance(result, dict) else enumerate(result):
        if key == "$ref":
            yield value
        elif isinstance(value, dict | list | tuple):
            yield from references(value)


def at(document: dict[str, Any], reference: str) -> Any:  # noqa: ANN401 - any part of a document
    value: Any = document
    for step in reference.removeprefix("#/").split("/"):
        value = value[step]
    return value


def test_every_reference_leads_somewhere() -> None:
    assert all(at(DOCUMENT, reference) for reference in references(DOCUMENT))


def test_every_event_and_observation_has_a_message() -> None:
    names = {message["name"] for message in DOCUMENT["components"]["messages"].values()}
    assert names == {tag_of(type_) for type_ in (*EVENTS, *observations())}


def kinds(root: type[Event]) -> Iterator[type[Event]]:
    """Yield the Structs below a root that an entry can hold."""
    for kind in root.__subclasses__():
        yield from [kind, *kinds(kind)] if kind.__struct_config__.tag else kinds(kind)


def test_every_event_can_be_read_back() -> None:
    old = {"Nothing/0"}
    assert {tag_of(kind) for kind in kinds(Event)} - old == {tag_of(kind) for kind in EVENTS}


def test_every_event_is_sent_on_a_channel_of_its_own() -> None:
    addresses = [channel["address"] for channel in DOCUMENT["channels"].values()]
    assert len(addresses) == len(set(addresses)) == len(EVENTS) + 2


@pytest.mark.parametrize("event", EVENTS, ids=name_of)
def test_an_event_is_published_where_the_document_says(event: type[Event]) -> None:
    given: dict[str, Any] = {"clusterQueue": "queue", "namespace": "space", "workload": "name"}
    fields = {"cluster_queue": "queue", "workload": "space/name"}
    made = smallest(event, {k: v for k, v in fields.items() if k in event.__struct_fields__})
    assert published_on("local", made) == subject_of(event).format(cluster="local", **given)


@pytest.mark.parametrize("message", [*EVENTS, *observations()], ids=repr)
def test_a_schema_is_complete_in_itself(message: type[msgspec.Struct]) -> None:
    schema = json_schema(message)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert all(at(schema, reference) for reference in references(schema))
    assert at(schema, schema["$ref"])["properties"]["type"] == {"enum": [tag_of(message)]}


def test_the_comment_behind_a_field_describes_it() -> None:
    fields = json_schema(QuotaReserved)["$defs"]["QuotaReserved"]["properties"]
    assert fields["borrows"]["description"].startswith("height of the smallest cohort subtree")
    assert fields["at_us"]["description"] == "UTC microseconds"


def test_comments_of_a_type_hold_those_of_what_it_extends() -> None:
    row = field_comments(WorkloadPending)
    assert row["workload"] == '"<namespace>/<name>"'
    assert row["shape"] == "the scheduling shape, which is inadmissible as a whole"
    assert "reason" not in row
    assert field_comments(Decision) == {"at_us": "UTC microseconds"}


def smallest(event: type[Event], fields: dict[str, Any]) -> Event:
    """Return an event with nothing but what it cannot do without."""
    needed = [field for field in msgspec.structs.fields(event) if field.required]
    made: Any = event
    return cast("Event", made(**{field.name: fields.get(field.name) for field in needed} | fields))


def test_the_document_names_the_streams_and_headers_that_the_bus_has() -> None:
    names, limits = stream_names("cluster"), StreamOptions()
    for channel in DOCUMENT["channels"].values():
        stream = channel["x-jetstream"]["stream"].format(cluster="cluster")
        assert stream in {names.events, names.observations, names.resyncs}
    entry = Entry(0, 7, 1, 1, 0, "local", "TimePassed", "a.b.c", "{}", bytes(32))
    written = event_headers("ledger", entry, Position(0, 3))
    properties = DOCUMENT["components"]["schemas"]["EventHeaders"]["properties"]
    assert set(properties) - set(written) == {"traceparent"}
    assert set(written) <= set(properties)
    assert written["Nats-Msg-Id"] == "ledger/7@3"
    assert EVENTS_STREAM["maxBytes"] == limits.events_bytes
    assert EVENTS_STREAM["maxAgeSeconds"] == limits.events_age_s
    assert DOCUMENT["servers"]["nats"]["protocol"] == "nats"

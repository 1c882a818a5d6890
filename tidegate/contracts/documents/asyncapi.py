"""The contract of the bus as an AsyncAPI 3 document, made from the unions of events."""

from __future__ import annotations

import msgspec

from tidegate.contracts.documents.nats import (
    BINDINGS,
    EVENTS,
    HEADERS,
    OBSERVATIONS,
    RESYNCS,
    SCHEMES,
    SERVERS,
)
from tidegate.contracts.documents.schema import (
    Document,
    decisions,
    facts,
    name_of,
    observations,
    subject_of,
    summary,
    tag_of,
    with_descriptions,
)
from tidegate.contracts.facts import Event

_REF = "#/components/schemas/{name}"


def asyncapi(version: str) -> Document:
    """Return the AsyncAPI document of everything on the bus."""
    events, observed = (*facts(), *decisions()), observations()
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "Tidegate on NATS JetStream",
            "version": version,
            "description": "Events: what the ledger holds, in its order. Subscribe to them in any"
            " language. Observations and resync requests are between the services. A dot in a name"
            " is written %2E in a subject, and an empty name is _.",
        },
        "defaultContentType": "application/json",
        "servers": SERVERS,
        "channels": {
            **{_channel(event): _event_channel(event) for event in events},
            "observed": _observed_channel(observed),
            "resync": _RESYNC,
        },
        "operations": _operations(events),
        "components": {
            "parameters": _PARAMETERS,
            "securitySchemes": SCHEMES,
            "messages": {
                **{_channel(event): _message(event, headers=True) for event in events},
                **{_observation(struct): _message(struct, headers=False) for struct in observed},
            },
            "schemas": _schemas((*events, *observed)) | {"EventHeaders": HEADERS},
        },
    }


def _channel(event: type[Event]) -> str:
    return f"event.{name_of(event)}"


def _observation(message: type[msgspec.Struct]) -> str:
    return f"observed.{name_of(message)}"


def _event_channel(event: type[Event]) -> Document:
    address = subject_of(event)
    return {
        "address": address,
        "summary": summary(event),
        "parameters": _parameters(address),
        "x-jetstream": EVENTS,
        "messages": {name_of(event): {"$ref": f"#/components/messages/{_channel(event)}"}},
    }


def _observed_channel(observed: tuple[type[msgspec.Struct], ...]) -> Document:
    address = "tidegate.{cluster}.observed.{resource}.{namespace}.{name}"
    return {
        "address": address,
        "summary": "What ingest saw of one object, and what the actuator could not do.",
        "parameters": _parameters(address),
        "x-jetstream": OBSERVATIONS,
        "messages": {
            name_of(struct): {"$ref": f"#/components/messages/{_observation(struct)}"}
            for struct in observed
        },
    }


def _parameters(address: str) -> Document:
    return {
        name: {"$ref": f"#/components/parameters/{name}"}
        for name in _PARAMETERS
        if f"{{{name}}}" in address
    }


def _operations(events: tuple[type[Event], ...]) -> Document:
    operations: Document = {
        f"publish.{name_of(event)}": {
            "action": "send",
            "channel": {"$ref": f"#/channels/{_channel(event)}"},
            "bindings": BINDINGS,
        }
        for event in events
    }
    for name, channel in (("observe", "observed"), ("requestResync", "resync")):
        reference = {"$ref": f"#/channels/{channel}"}
        operations[name] = {"action": "send", "channel": reference, "bindings": BINDINGS}
    return operations


def _message(message: type[msgspec.Struct], *, headers: bool) -> Document:
    document = {
        "name": tag_of(message),
        "summary": summary(message),
        "payload": {"$ref": _REF.format(name=message.__name__)},
    }
    return document | ({"headers": {"$ref": _REF.format(name="EventHeaders")}} if headers else {})


def _schemas(messages: tuple[type[msgspec.Struct], ...]) -> Document:
    _, components = msgspec.json.schema_components(messages, ref_template=_REF)
    return with_descriptions(components, messages)


_RESYNC: Document = {
    "address": "tidegate.{cluster}.resync",
    "summary": "The scheduler asks ingest for a full resync.",
    "parameters": {"cluster": {"$ref": "#/components/parameters/cluster"}},
    "x-jetstream": RESYNCS,
    "messages": {
        "Resync": {
            "name": "Resync",
            "contentType": "text/plain",
            "payload": {"type": "string", "description": "why, in one sentence"},
        }
    },
}
_PARAMETERS: Document = {
    "cluster": {"description": "the Kubernetes cluster, by the name it was installed under"},
    "clusterQueue": {"description": "the ClusterQueue that the event is about, or _"},
    "namespace": {"description": "the namespace, or _ for what is cluster-wide"},
    "workload": {"description": "the Workload's name, or _"},
    "resource": {"description": 'plural and group, e.g. "jobs%2Ebatch", or "actuation"'},
    "name": {"description": "the object's name, or _"},
}

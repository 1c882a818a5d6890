"""The contract of the bus as an AsyncAPI 3 document, made from the unions of events.

AsyncAPI has a binding for NATS and none for JetStream, so streams stand in ``x-jetstream``.
"""

from __future__ import annotations

import msgspec

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
from tidegate.contracts.subjects import HEADER

SERVERS: Document = {
    "nats": {
        "host": "{host}:4222",
        "protocol": "nats",
        "protocolVersion": "2.12",
        "description": "NATS with JetStream. In a cluster TLS is asked for (tls://), with the CA of"
        " the ConfigMap tidegate-ca; users and what each may stand in deploy/nats/accounts.conf.",
        "variables": {
            "host": {
                "default": "nats.tidegate-system",
                "description": "where NATS is; 127.0.0.1 with `tidegate up`",
            }
        },
        "security": [
            {"$ref": "#/components/securitySchemes/password"},
            {"$ref": "#/components/securitySchemes/credentials"},
        ],
    }
}
SCHEMES: Document = {
    "password": {
        "type": "userPassword",
        "description": "tidegate_<cluster>_reader may read EVENTS; its answers come under the inbox"
        " prefix _INBOX_tidegate_<cluster>_client",
    },
    "credentials": {
        "type": "X509",
        "description": "a NATS credentials file (JWT and nkey), where the account is an operator's",
    },
}
BINDINGS: Document = {"nats": {"bindingVersion": "0.1.0"}}
"""No queue groups: each subscriber has a consumer of its own."""
EVENTS: Document = {
    "stream": "tidegate_{cluster}_events",
    "subjects": ["tidegate.{cluster}.event.>"],
    "retention": "limits",
    "discard": "old",
    "maxBytes": 536_870_912,
    "maxAgeSeconds": 604_800,
    "sequence": "the ledger's seq (ce-id behind the slash) plus the number behind the @ of"
    " Nats-Msg-Id; without an @ both are the same",
    "consumer": "an ordered consumer over all subjects: only so is a hole between two seqs one",
}
OBSERVATIONS: Document = {
    "stream": "tidegate_{cluster}_observations",
    "subjects": ["tidegate.{cluster}.observed.>"],
    "consumer": "the scheduler's alone",
}
RESYNCS: Document = {
    "stream": "tidegate_{cluster}_resyncs",
    "subjects": ["tidegate.{cluster}.resync"],
    "consumer": "ingest's alone",
}
HEADERS: Document = {
    "type": "object",
    "description": "CloudEvents 1.0 in binary mode, and positions by which a subscriber sees gaps.",
    "required": ["Nats-Msg-Id", "ce-id", "ce-source", "ce-specversion", "ce-type"],
    "properties": {
        "Nats-Msg-Id": {
            "type": "string",
            "description": "by which the server knows a retry: ce-id, and behind an @ by how much"
            " the stream counts otherwise than the ledger",
        },
        "Tidegate-Hash": {"type": "string", "description": "the entry's hash in the chain, hex"},
        "Tidegate-Epoch": {"type": "string", "description": "the term that wrote it, decimal"},
        "Tidegate-Turn": {"type": "string", "description": "the turn it was written in, decimal"},
        "ce-specversion": {"const": "1.0"},
        "ce-id": {"type": "string", "description": "<ledger id>/<seq>: seq has no gaps"},
        "ce-type": {"type": "string", "description": "dev.tidegate.<type>"},
        "ce-source": {"type": "string", "description": "/tidegate/<cluster>/<partition>"},
        "ce-subject": {"type": "string", "description": "what the event is about"},
        "ce-time": {"type": "string", "format": "date-time"},
        "content-type": {"const": "application/json"},
        HEADER: {"type": "string", "description": "W3C trace context, where traces are on"},
    },
}


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

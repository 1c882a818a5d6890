"""The NATS part of the AsyncAPI document: servers, streams, bindings, and headers of an event.

AsyncAPI has a binding for NATS and none for JetStream, so streams stand in ``x-jetstream``.
"""

from __future__ import annotations

from tidegate.contracts.documents.schema import Document
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

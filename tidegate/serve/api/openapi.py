"""The OpenAPI document, made of the table of endpoints and the types of the answers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from tidegate.serve.api.endpoint import Endpoint, Parameter

_PLACE = re.compile(r"\{(\w+)\}")
_REFUSALS = {
    "400": "a parameter is wrong",
    "401": "no token, or an unknown one",
    "403": "the asker may not see this",
    "404": "there is no such thing",
    "413": "what is sent is too large",
    "422": "this is too much for a server, or not to be had",
    "429": "too many requests",
    "503": "the ledger or the API server does not answer",
}


def document(endpoints: Iterable[Endpoint], version: str) -> dict[str, Any]:
    """Return the document, as OpenAPI 3.1 has it."""
    rows = list(endpoints)
    types = [row.answer_type() for row in rows]
    schemas, components = msgspec.json.schema_components(
        types, ref_template="#/components/schemas/{name}"
    )
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Tidegate's read API",
            "version": version,
            "description": "The ledger's answers for users who may see them. Read-only.",
        },
        "paths": {
            row.path: {row.method.lower(): _operation(row, schema)}
            for row, schema in zip(rows, schemas, strict=True)
        },
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
    }


def _request_body(row: Endpoint) -> dict[str, Any]:
    if not row.body_type:
        return {}
    content = {"application/json": {"schema": {"type": "object"}}}
    return {"requestBody": {"required": True, "description": row.body_type, "content": content}}


def _operation(row: Endpoint, schema: dict[str, Any]) -> dict[str, Any]:
    refused = {status: {"description": why} for status, why in _REFUSALS.items()}
    content = {"application/json": {"schema": schema}}
    return {
        "summary": row.about,
        "description": f"Required right: {row.scope}.",
        "parameters": [
            *map(_path_parameter, _PLACE.findall(row.path)),
            *map(_query_parameter, row.allowed_parameters()),
        ],
        **_request_body(row),
        "responses": {
            "200": {
                "description": "the answer",
                "headers": {
                    "ETag": {"schema": {"type": "string"}},
                    "Tidegate-Seq": {"schema": {"type": "integer"}},
                },
                "content": content,
            },
            "304": {"description": "nothing was written to the ledger since"},
            **refused,
        },
    }


def _path_parameter(name: str) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}


def _query_parameter(parameter: Parameter) -> dict[str, Any]:
    schema: dict[str, Any] = (
        {"type": "integer", "minimum": 0} if parameter.number else {"type": "string"}
    )
    if parameter.choices:
        schema |= {"enum": list(parameter.choices), "default": parameter.choices[0]}
    return {"name": parameter.name, "in": "query", "description": parameter.about, "schema": schema}

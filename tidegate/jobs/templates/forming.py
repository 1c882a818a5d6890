"""A pod template in the form that a start reads and writes."""

from __future__ import annotations

from typing import Any

import msgspec

from tidegate.errors import UndecodableError
from tidegate.jobs.kind import Object


class _Gate(msgspec.Struct):
    name: str


class _Metadata(msgspec.Struct):
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class _Spec(msgspec.Struct):
    nodeSelector: dict[str, str] | None = None  # noqa: N815 - Kubernetes' name
    tolerations: list[dict[str, Any]] | None = None
    schedulingGates: list[_Gate] | None = None  # noqa: N815 - Kubernetes' name


class _Form(msgspec.Struct):
    """The fields of a template that a start reads; another project's schema may allow any JSON."""

    metadata: _Metadata | None = None
    spec: _Spec | None = None


def copied(value: Object) -> Object:
    """Return a deep copy of an object; it holds JSON only.

    Through bytes, since that is compiled: ``copy.deepcopy`` takes ten times as long.
    """
    return msgspec.json.decode(msgspec.json.encode(value), type=Object)


def formed(template: Object) -> Object:
    """Return a template without fields that say null, which is nothing, where a start looks.

    Raises:
        UndecodableError: it has not the form of one.
    """
    try:
        msgspec.convert(template, _Form)
    except msgspec.ValidationError as error:
        raise UndecodableError(f"A pod template is none: {error}") from error
    result = {key: value for key, value in template.items() if value is not None}
    for part in ("metadata", "spec"):
        if part in result:
            items = result[part].items()
            result[part] = {key: value for key, value in items if value is not None}
    return result

"""Merge patches of Kubernetes objects: sent, or for a dry run of the client made here."""

from __future__ import annotations

from typing import Any

from tidegate.cli.objects.api_client import Asking, Object
from tidegate.cli.objects.printing import DryRun


def patched(api: Asking, path: str, patch: dict[str, Any], dry: DryRun) -> Object:
    """Return an object with a patch made; of a client's dry run nothing is sent.

    Raises:
        ApiStatusError: the API server refuses.
        ApiUnreachableError: the API server does not answer.
    """
    if dry is DryRun.CLIENT:
        return _merged(api.send("GET", path), patch)
    return api.send("PATCH", path, patch, dry.query)


def _merged(value: Any, patch: dict[str, Any]) -> dict[str, Any]:  # noqa: ANN401 - any JSON
    """Return a JSON merge patch made (RFC 7386)."""
    merged: dict[str, Any] = dict(value) if isinstance(value, dict) else {}
    for name, part in patch.items():
        if part is None:
            merged.pop(name, None)
        else:
            merged[name] = _merged(merged.get(name), part) if isinstance(part, dict) else part
    return merged

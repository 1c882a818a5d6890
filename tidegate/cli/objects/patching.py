"""Merge patches of Kubernetes objects: sent, or for a dry run of the client made here."""

from __future__ import annotations

from typing import Any

from tidegate.cli.objects.api_client import ApiClient, Object
from tidegate.cli.objects.printing import DryRun


def patch_object(api: ApiClient, path: str, patch: dict[str, Any], dry: DryRun) -> Object:
    """Return an object with a patch made; of a client's dry run nothing is sent.

    Raises:
        ApiStatusError: the API server refuses.
        ApiUnreachableError: the API server does not answer.
    """
    if dry is DryRun.CLIENT:
        return _merge_patch(api.request("GET", path), patch)
    return api.request("PATCH", path, patch, dry.query)


def _merge_patch(value: Any, patch: dict[str, Any]) -> dict[str, Any]:  # noqa: ANN401 - any JSON
    """Return a JSON merge patch made (RFC 7386)."""
    merged: dict[str, Any] = dict(value) if isinstance(value, dict) else {}
    for name, part in patch.items():
        if part is None:
            merged.pop(name, None)
        else:
            merged[name] = _merge_patch(merged.get(name), part) if isinstance(part, dict) else part
    return merged

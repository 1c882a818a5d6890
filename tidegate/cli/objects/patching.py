"""Changes of Kubernetes objects in kubectl's forms: dry runs, patches, and what is printed."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer

from tidegate.cli.objects.api_client import ApiClient, Object
from tidegate.cli.output import Output, print_record


class DryRun(StrEnum):
    """Kubectl's forms of a dry run."""

    NONE = "none"
    CLIENT = "client"
    SERVER = "server"

    @property
    def query(self) -> dict[str, str]:
        """Return what a request says of it."""
        return {"dryRun": "All"} if self is DryRun.SERVER else {}


DryRunOption = Annotated[
    DryRun,
    typer.Option(
        "--dry-run",
        help=(
            "client: only print the request; server: let the API server validate it "
            "without storing it."
        ),
    ),
]


def full_name(obj: Object) -> str:
    """Return what ``-o name`` prints: ``clusterqueue.kueue.x-k8s.io/team-a``."""
    group = obj.get("apiVersion", "").rpartition("/")[0]
    kind = str(obj.get("kind", "")).lower()
    return f"{kind}.{group}/{obj['metadata']['name']}" if group else f"{kind}/{_object_name(obj)}"


def print_done(obj: Object, done: str, output: Output, dry: DryRun = DryRun.NONE) -> None:
    """Print what was done to an object, or the object in the requested form."""
    if output in {Output.TABLE, Output.WIDE}:
        how = "" if dry is DryRun.NONE else f" ({dry} dry run)"
        typer.echo(f"{full_name(obj)} {done}{how}")
    else:
        print_record({**obj, "": full_name(obj)} if output is Output.NAME else obj, output, name="")


def with_kind(objects: Sequence[Object], api_version: str, kind: str) -> list[Object]:
    """Return objects of a list with the kind that an API server leaves out in there."""
    head = {"apiVersion": api_version, "kind": kind}
    return sorted(
        ({**head, **fields} for fields in objects),
        key=lambda obj: (_namespace(obj), _object_name(obj)),
    )


def _object_name(obj: Object) -> str:
    return str(obj["metadata"]["name"])


def _namespace(obj: Object) -> str:
    return str(obj["metadata"].get("namespace", ""))


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

"""How objects of Kubernetes are printed: kubectl's forms, and the ages of things."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer

from tidegate.cli.objects.api_client import Object
from tidegate.cli.output import Column, Output, print_record, print_records
from tidegate.cli.times import parse_utc, span

_SECOND_US = 1_000_000


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
        help="client: only print what would be sent; server: the API server checks it, too, and "
        "keeps nothing.",
    ),
]


def full_name(found: Object) -> str:
    """Return what ``-o name`` prints: ``clusterqueue.kueue.x-k8s.io/team-a``."""
    group = found.get("apiVersion", "").rpartition("/")[0]
    kind = str(found.get("kind", "")).lower()
    return f"{kind}.{group}/{found['metadata']['name']}" if group else f"{kind}/{_name(found)}"


def print_done(found: Object, done: str, output: Output, dry: DryRun = DryRun.NONE) -> None:
    """Say what was done to an object, or print the object in the form that was asked for."""
    if output in {Output.TABLE, Output.WIDE}:
        how = "" if dry is DryRun.NONE else f" ({dry} dry run)"
        typer.echo(f"{full_name(found)} {done}{how}")
    else:
        print_record(
            {**found, "": full_name(found)} if output is Output.NAME else found, output, name=""
        )


def print_objects(
    objects: Sequence[Object],
    row: Callable[[Object], dict[str, Any]],
    columns: Sequence[Column],
    output: Output,
    nothing: str,
) -> None:
    """Print objects as a table of rows, as a List in JSON or YAML, or their names."""
    match output:
        case Output.JSON | Output.YAML:
            whole = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
            print_record(whole, output, name="kind")
        case Output.NAME:
            names = [{"name": full_name(one)} for one in objects]
            print_records(names, (), output)
        case Output.TABLE | Output.WIDE:
            print_records([row(one) for one in objects], columns, output, nothing=nothing)


def typed(objects: Sequence[Object], api_version: str, kind: str) -> list[Object]:
    """Return objects of a list with the kind that an API server leaves out in there."""
    head = {"apiVersion": api_version, "kind": kind}
    return sorted(({**head, **one} for one in objects), key=lambda one: (_space(one), _name(one)))


def age(found: Object) -> str:
    """Return how long an object exists, as kubectl says it."""
    return since(found["metadata"].get("creationTimestamp", ""))


def since(at: str, until: str = "") -> str:
    """Return how long it is from one time to another, or to now; empty if it never began."""
    if not at:
        return ""
    end_us = parse_utc(until) if until else time.time_ns() // 1_000
    return span(max(0, end_us - parse_utc(at)) / _SECOND_US)


def condition(found: Object, kind: str) -> Object:
    """Return a condition of an object that is True, else an empty one."""
    told: Sequence[Object] = (found.get("status") or {}).get("conditions") or ()
    return next((one for one in told if one["type"] == kind and one["status"] == "True"), {})


def _name(found: Object) -> str:
    return str(found["metadata"]["name"])


def _space(found: Object) -> str:
    return str(found["metadata"].get("namespace", ""))

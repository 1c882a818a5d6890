"""The kinds that commands name, and how people spell them: ``cq``, ``wl``, ``job/train``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import typer
from typer.core import TyperGroup

from tidegate.cli.objects.api_client import ApiClient, Object
from tidegate.jobs.registry import JOB_KINDS
from tidegate.kinds.names import GROUP, VERSIONS
from tidegate.model.texts import is_name


class CommandKind(NamedTuple):
    """A kind as the command line says it."""

    word: str  # the sub-command
    kind: str
    plural: str
    short: str
    namespaced: bool

    @property
    def api_version(self) -> str:
        """Return the version that is written."""
        return f"{GROUP}/{VERSIONS[0]}"

    def path(self, name: str = "", namespace: str = "") -> str:
        """Return the path of an object; without a name of the collection."""
        inside = f"/namespaces/{namespace}" if self.namespaced and namespace else ""
        return f"/apis/{self.api_version}{inside}/{self.plural}" + (f"/{name}" if name else "")


CLUSTER_QUEUE = CommandKind("clusterqueue", "ClusterQueue", "clusterqueues", "cq", namespaced=False)
LOCAL_QUEUE = CommandKind("localqueue", "LocalQueue", "localqueues", "lq", namespaced=True)
WORKLOAD = CommandKind("workload", "Workload", "workloads", "wl", namespaced=True)


def check_name(text: str, subject: str) -> None:
    """Refuse what can be the name of no object: it would stand in the path of a request.

    Raises:
        BadParameter: it can be none; the message begins with its ``subject``.
    """
    if not is_name(text):
        raise typer.BadParameter(
            f"{subject} {text[:80]!r} is none that an object can have: a-z, 0-9, - and . alone."
        )


class KindGroup(TyperGroup):
    """A group whose sub-commands are kinds: ``cq NAME`` may be written ``cq/NAME``."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # noqa: ANN401 - as click has it
        """Find the command of the kind that the first argument names, alone or before a slash."""
        kind, slash, name = args[0].partition("/")
        if slash and name and self.get_command(ctx, kind) is not None:
            args = [kind, name, *args[1:]]
        return super().resolve_command(ctx, args)


def add_kind_command(
    app: typer.Typer,
    kind: CommandKind,
    function: Callable[..., Any],
    **settings: Any,  # noqa: ANN401 - typer's
) -> None:
    """Add a sub-command under the kind's word, and unlisted under its short name and plural."""
    app.command(kind.word, **settings)(function)
    for other in (kind.short, kind.plural):
        app.command(other, hidden=True, **settings)(function)


class OwnerName(NamedTuple):
    """The object that TYPE[.GROUP]/NAME names."""

    type: str  # in lower case, singular or plural
    group: str  # empty: any
    name: str


def parse_owner_name(text: str) -> OwnerName:
    """Read ``job/train``, ``jobs.batch/train``."""
    kind, slash, name = text.partition("/")
    if not (kind and slash and name):
        raise typer.BadParameter(
            f"{text!r} does not have the form TYPE[.GROUP]/NAME, such as job/train."
        )
    word, _, group = kind.lower().partition(".")
    return OwnerName(word, group, name)


def is_owned_by(workload: Object, owner: OwnerName) -> bool:
    """Return whether a Workload is of the object that is meant."""
    owners: Sequence[Object] = workload["metadata"].get("ownerReferences") or ()
    return any(
        reference["name"] == owner.name
        and owner.type in _kind_names(str(reference["kind"]))
        and owner.group in {"", str(reference["apiVersion"]).rpartition("/")[0]}
        for reference in owners
    )


def find_workload_name(api: ApiClient, text: str, namespace: str) -> str:
    """Return the name of the Workload that a person means: by its name, or as ``job/train``."""
    if "/" not in text:
        return text
    owner = parse_owner_name(text)
    listed = api.list_all(WORKLOAD.path(namespace=namespace))
    names = [str(obj["metadata"]["name"]) for obj in listed if is_owned_by(obj, owner)]
    if len(names) != 1:
        choices = ", ".join(names) or "none"
        raise typer.BadParameter(
            f"{text} has not one Workload in namespace {namespace}, but {choices}: name one."
        )
    return names[0]


def _kind_names(kind: str) -> set[str]:
    word = kind.lower()
    plurals = {job_kind.plural for job_kind in JOB_KINDS.values() if job_kind.kind.lower() == word}
    return {word, f"{word}s", *plurals}

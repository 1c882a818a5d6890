"""The user's own object on a command line, ``job/train``: which Workload is its."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import typer

from tidegate.cli.objects.api_client import ApiClient, Object
from tidegate.cli.objects.naming import WORKLOAD
from tidegate.jobs.registry import JOB_KINDS


class OwnerName(NamedTuple):
    """The object that TYPE[.GROUP]/NAME names."""

    type: str  # in lower case, singular or plural
    group: str  # empty: any
    name: str


def parse_owner_name(text: str) -> OwnerName:
    """Read ``job/train``, ``jobs.batch/train``.

    Raises:
        BadParameter: it is not of that form.
    """
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
    """Return the name of the Workload that a person means: by its name, or as ``job/train``.

    Raises:
        BadParameter: the job has none, or several.
    """
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

"""Observed cases as data: an object, what a start hands to it, and what Kueue answered."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import yaml

CASES = Path(__file__).parent / "cases"
TRIED = Path(__file__).parents[1] / "tried"
"""Cases of the same form whose answers are those of behaviour.md 16 and of Kueue's own rules."""
Object = dict[str, Any]


class Info(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What an admission hands to one podset of a job."""

    name: str
    count: int = 0
    node_selector: dict[str, str] = {}
    tolerations: tuple[Object, ...] = ()
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    scheduling_gates: tuple[Object, ...] = ()


class Case(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One object, and what Kueue said or did when handed it."""

    id: str
    kind: str
    object: Object
    infos: tuple[Info, ...] | None = None  # None: no start was tried
    stop_infos: tuple[Info, ...] | None = None  # None: the podsets before the start
    extra: tuple[Object, ...] = ()  # other objects of the cluster
    manage_jobs_without_queue_name: bool = False
    expected: Object


def kinds(folder: Path = CASES) -> Iterator[tuple[str, list[Case]]]:
    """Yield each kind's name and cases, both in order: ``KIND/CASE.json``, or ``KIND.yaml``.

    A file of YAML has the cases of a kind in a list, each without its kind.
    """
    for path in sorted(path for path in folder.iterdir() if path.is_dir()):
        paths = sorted(path.glob("*.json"))
        yield path.name, [msgspec.json.decode(path.read_bytes(), type=Case) for path in paths]
    for path in sorted(folder.glob("*.yaml")):
        listed = yaml.load(path.read_text(), yaml.CSafeLoader)
        yield path.stem, [msgspec.convert(fields | {"kind": path.stem}, Case) for fields in listed]

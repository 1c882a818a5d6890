"""Recorded cases on disk: one JSON file each, one folder a suite.

A case says which feature gates differ from Kueue's defaults, the clock of the decision, what went
in and what came out; README.md beside this file says how.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

Json: TypeAlias = dict[str, Any]

DATA = Path(__file__).parent / "data"
"""The copies that run when no other folder is named."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Case:
    """One recorded decision."""

    suite: str
    id: str  # e.g. "schedule/001"
    gates: dict[str, bool]
    now_us: int  # 0 where time plays no part
    input: Json
    expected: Json
    extra: Json = field(default_factory=dict)  # members of the file that no suite of ours shares


def micros(text: str) -> int:
    """Return a Kubernetes time such as ``2026-10-01T12:00:00Z`` in UTC microseconds, 0 for none."""
    if not text:
        return 0
    passed = datetime.fromisoformat(text) - _EPOCH
    return (passed.days * 86_400 + passed.seconds) * 1_000_000 + passed.microseconds


def read(path: Path, suite: str) -> Case:
    """Read one file."""
    document: Json = msgspec.json.decode(path.read_bytes())
    return Case(
        suite=suite,
        id=f"{suite}/{path.stem}",
        gates=document.get("featureGates", {}),
        now_us=micros(document.get("now", "")),
        input=document["input"],
        expected=document.get("expected", {}),
        extra=document,
    )


def suites(folder: Path) -> Iterator[tuple[str, list[Case]]]:
    """Yield the suites below a folder by name; a folder of JSON files is a suite itself."""
    folders = sorted({path.parent for path in folder.rglob("*.json")} - {folder})
    for at in folders or [folder]:
        yield at.name, [read(path, at.name) for path in sorted(at.glob("*.json"))]

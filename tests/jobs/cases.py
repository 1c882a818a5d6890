"""Cases of job kinds: YAML files in a folder named like the kind's module."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

import msgspec
import yaml

from tests.parts.foreign import declarations
from tidegate import jobs
from tidegate.contracts.decisions import PodSetStart, StartOrdered, StopOrdered
from tidegate.jobs.kind import JobKind, Object, Start, Stop
from tidegate.jobs.suspending.declared import declared_kind
from tidegate.model.ids import ObjectRef

HERE = Path(__file__).parent
MODULES: dict[str, JobKind[Any]] = {
    found.name.rpartition(".")[2]: module.KIND
    for found in sorted(walk_packages(jobs.__path__, "tidegate.jobs."), key=lambda one: one.name)
    if hasattr(module := import_module(found.name), "KIND")
}
"""Each module that is a kind."""
KINDS = {**MODULES, **{name: declared_kind(one) for name, one in declarations().items()}}
CASES = {
    f"{folder}/{path.stem}": path
    for folder in KINDS
    for path in sorted((HERE / folder).glob("*.yaml"))
}
JOB = ObjectRef(kind="batch/job", namespace="team", name="train", uid="u1")


def case(name: str) -> Object:
    found: Object = yaml.safe_load(CASES[name].read_text())
    return found


def kind_of(name: str) -> JobKind[Any]:
    return KINDS[name.partition("/")[0]]


def start_of(found: Object) -> Start:
    written = {**found["start"], "at_us": 1, "workload": "team/w", "job": msgspec.to_builtins(JOB)}
    seq = int(written.pop("seq"))
    order = msgspec.convert({**written, "type": "StartOrdered/1"}, StartOrdered)
    return Start(order=order, ledger_id="L1", seq=seq)


def stop_of(seq: int, podsets: Sequence[Object] = ()) -> Stop:
    given = msgspec.convert(podsets, tuple[PodSetStart, ...])
    order = StopOrdered(at_us=1, workload="team/w", job=JOB, podsets=given)
    return Stop(order=order, ledger_id="L1", seq=seq)


def plain(struct: msgspec.Struct) -> Object:
    """Return it as YAML writes it: lists, no tuples."""
    found: Object = msgspec.json.decode(msgspec.json.encode(struct))
    return found

"""Cases of job kinds: a YAML file in ``data`` for each, named like the kind's module.

``observe…`` has an object and what is observed of it, ``start…`` and ``stop…`` an object, an order
and the step it asks for. ``bad`` has what is wrong with an object: fields that are set (null: taken
away), and what must follow. refused: by the API server, with a sentence. recorded: in the ledger,
and as an Event on the object. accepted: it is odd, and legal.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import yaml

from tests.parts.foreign import declarations
from tidegate.contracts.decisions import PodSetStart, StartOrdered, StopOrdered
from tidegate.jobs.declared import declared_kind
from tidegate.jobs.kind import JobKind, Object, Start, Stop
from tidegate.jobs.registry import MODULES as FOUND
from tidegate.model.ids import ObjectRef

MODULES: dict[str, JobKind[Any]] = {
    module.__name__.rpartition(".")[2]: module.KIND for module in FOUND.values()
}
"""Each module that is a kind."""
KINDS = {
    **MODULES,
    **{name: declared_kind(declaration) for name, declaration in declarations().items()},
}
DATA: dict[str, dict[str, Object]] = {
    path.stem: yaml.load(path.read_text(), yaml.CSafeLoader)
    for path in sorted((Path(__file__).parent / "data").rglob("*.yaml"))
}
"""By the module, or what a kind without one is called."""
CASES = {
    f"{kind}/{name}": fields
    for kind, cases in DATA.items()
    for name, fields in cases.items()
    if name != "bad"
}
BAD = {
    KINDS[kind].name if kind in KINDS else kind: cases["bad"]
    for kind, cases in DATA.items()
    if "bad" in cases
}
"""By the kind's name."""
JOB = ObjectRef(kind="batch/job", namespace="team", name="train", uid="u1")


def case(name: str) -> Object:
    return copy.deepcopy(CASES[name])


def kind_of(name: str) -> JobKind[Any]:
    return KINDS[name.partition("/")[0]]


def start_of(obj: Object) -> Start:
    written = {**obj["start"], "at_us": 1, "workload": "team/w", "job": msgspec.to_builtins(JOB)}
    seq = int(written.pop("seq"))
    order = msgspec.convert({**written, "type": "StartOrdered/1"}, StartOrdered)
    return Start(order=order, ledger_id="L1", seq=seq)


def stop_of(seq: int, podsets: Sequence[Object] = ()) -> Stop:
    given = msgspec.convert(podsets, tuple[PodSetStart, ...])
    order = StopOrdered(at_us=1, workload="team/w", job=JOB, podsets=given)
    return Stop(order=order, ledger_id="L1", seq=seq)


def plain(struct: msgspec.Struct) -> Object:
    """Return it as YAML writes it: lists, no tuples."""
    document: Object = msgspec.json.decode(msgspec.json.encode(struct))
    return document

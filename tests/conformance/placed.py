"""Worked examples of placements in the notation of behaviour.md 19.

``b/r/host; b0r0:00=2 b0r0:01=4/3; p0 3x2 required=b slice 2@r grp``: levels; nodes with their CPUs
and, if not 10, pods; podsets with their count, the CPUs of a pod and what they ask for.
"""

from __future__ import annotations

import re

from tests.conformance.cases import Json
from tests.conformance.pods import podset
from tests.conformance.topologies import node_spec
from tidegate.core.topology.fitting.request import Failure
from tidegate.core.topology.fitting.tree import Node, build
from tidegate.core.topology.place import Ask, Options, Placed, Placer, place

_LEVELS = {"b": "block", "r": "rack", "host": "kubernetes.io/hostname"}
_NODE = re.compile(r"(?:(b\d+)(r\d+))?:(\d+)=(\d+)(?:/(\d+))?")
_PODSET = re.compile(r"(\w+) (\d+)x(\d+) ?(.*)")
_SLICE = re.compile(r"slice (\d+)@(\w+)")
_FITS = re.compile(r"(\w+): FAIL: .* only (\d+) out of (\d+) slice")


def outcomes(text: str) -> dict[str, object]:
    """Return where each podset goes, by its name; of one that fits nowhere how many slices fit."""
    levels, nodes, podsets = text.split("; ", 2)
    tree = build(
        [_LEVELS[level] for level in levels.split("/")],
        [_node(match) for match in _NODE.finditer(nodes)],
    )
    asks = [_ask(each) for each in podsets.split(", ")]
    placer = Placer(tree=tree, options=Options())
    result: dict[str, object] = {}
    for ask, outcome in zip(asks, place(placer, asks), strict=True):
        if isinstance(outcome, Placed):
            result[ask.podset.name] = dict(outcome.leaves)
        else:
            assert isinstance(outcome, Failure), outcome
            result[ask.podset.name] = (outcome.fits, outcome.of)
    return result


def expected(text: str) -> dict[str, object]:
    """Return the same as an example has it."""
    if match := _FITS.match(text):
        return {match[1]: (int(match[2]), int(match[3]))}
    return {
        name: {int(node): int(count) for node, count in re.findall(r"n(\d+)x(\d+)", nodes)}
        for name, nodes in (part.split(": ") for part in text.split("; "))
    }


def _node(match: re.Match[str]) -> Node:
    block, rack, number, cpu, pods = match.groups()
    labels = {"kubernetes.io/hostname": f"n{number}"}
    labels |= {"block": block, "rack": block + rack} if block else {}
    status = {"allocatable": {"cpu": cpu, "pods": pods or "10"}}
    ready = [{"type": "Ready", "status": "True"}]
    obj: Json = {
        "metadata": {"name": f"n{number}", "labels": labels},
        "spec": {},
        "status": status | {"conditions": ready},
    }
    return Node(name=f"n{number}", spec=node_spec(obj), usage={})


def _ask(text: str) -> Ask:
    match = _PODSET.fullmatch(text)
    assert match is not None, text
    name, count, cpu, words = match.groups()
    request: Json = {
        field: _LEVELS[level] for field, level in re.findall(r"(required|preferred)=(\w+)", words)
    }
    if slices := _SLICE.search(words):
        request["podSetSliceRequiredTopology"] = _LEVELS[slices[2]]
        request["podSetSliceSize"] = int(slices[1])
    if "unconstrained" in words:
        request["unconstrained"] = True
    obj: Json = {"name": name, "template": {"spec": {}}, "topologyRequest": request}
    return Ask(
        podset=podset(obj),
        count=int(count),
        each={"cpu": 1_000 * int(cpu)},
        group="g" if words.endswith("grp") else "",
        implied=False,
        previous=None,
        gone=False,
        counted=False,
    )

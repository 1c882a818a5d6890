"""What a case asks for that is not built yet, told by the case itself and never by its name."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.conformance.cases import Case, Json

TOPOLOGY = "topologies"
NODES = "placement on nodes"
CHECKS = "admission checks that wait for a second pass"
DEVICES = "device claims"


def needs(case: Case) -> str | None:
    """Return why a case cannot be judged yet, or None if it can."""
    return next((why for why, asked in _NEEDS if asked(case)), None)


def believed_bug(case: Case) -> str | None:
    """Return which bug of Kueue we believe a case to record, or None."""
    return next((why for why, records in _BUGS if records(case)), None)


def _levels(case: Case) -> bool:
    return "levels" in case.input or "topologies" in case.input


def _nodes(case: Case) -> bool:
    return bool(case.input.get("nodes") or case.input.get("pods"))


def _second_pass(case: Case) -> bool:
    return bool(case.input.get("secondPass"))


def _placed(case: Case) -> bool:
    # A workload alone is charged, and nobody is placed beside it.
    return "workload" not in case.input and any(
        "topologyAssignment" in given
        for workload in _workloads(case)
        for given in workload.get("status", {}).get("admission", {}).get("podSetAssignments", ())
    )


def _devices(case: Case) -> bool:
    return "preprocessedDRAResources" in case.input


def _workloads(case: Case) -> Iterator[Json]:
    yield from case.input.get("workloads", ())
    if "workload" in case.input:
        yield case.input["workload"]


_NEEDS: tuple[tuple[str, Callable[[Case], bool]], ...] = (
    (TOPOLOGY, _levels),
    (TOPOLOGY, _placed),
    (NODES, _nodes),
    (CHECKS, _second_pass),
    (DEVICES, _devices),
)
_BUGS: tuple[tuple[str, Callable[[Case], bool]], ...] = ()

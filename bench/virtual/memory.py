"""What a workload takes in the core's memory, while it waits and while it holds quota.

The facts are decoded from bytes as a service decodes them, so nothing is shared that would not be.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from dataclasses import dataclass
from resource import RUSAGE_SELF, getrusage

import msgspec

from bench.virtual.loads import NAMESPACE, beginning, flat_queues
from bench.virtual.steps import SHAPES_CPU
from tidegate.contracts.facts import FactEvent, WorkloadSubmitted
from tidegate.core.decide import decide
from tidegate.core.folding.fold import apply
from tidegate.core.state.state import State
from tidegate.model.ids import ObjectRef
from tidegate.model.podset import Container, PodSet

_QUEUES_EACH = 10
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(WorkloadSubmitted).decode


@dataclass(frozen=True)
class Footprint:
    """What so many workloads take, in bytes of the process."""

    queues: int
    workloads: int
    admitted: int
    before: int  # the process with empty queues
    after: int

    @property
    def each(self) -> float:
        """Return the bytes for each workload."""
        return (self.after - self.before) / self.workloads


def measure_pending(queues: int, workloads: int) -> Footprint:
    """Measure workloads that wait, as none of them fits."""
    return _measure(queues, workloads, cpus=[str(1_000 + cpu) for cpu in SHAPES_CPU])


def measure_admitted(queues: int, workloads: int) -> Footprint:
    """Measure workloads that hold quota; there must be enough of it."""
    return _measure(queues, workloads, cpus=["10m"])


def _measure(queues: int, workloads: int, *, cpus: list[str]) -> Footprint:
    state = State()
    _fold(state, beginning("tidegate", fair=False))
    _fold(state, flat_queues(queues // _QUEUES_EACH, _QUEUES_EACH))
    decide(state)
    gc.collect()
    gc.freeze()
    before = _resident()
    for number in range(workloads):
        apply(state, _submitted(number, queues, cpus))
    while decide(state):
        pass
    holding = sum(1 for workload in state.workloads.values() if workload.phase == "admitted")
    return Footprint(queues, workloads, holding, before, _resident())


def _fold(state: State, events: Iterator[FactEvent] | list[FactEvent]) -> None:
    for event in events:
        apply(state, event)


def _submitted(number: int, queues: int, cpus: list[str]) -> WorkloadSubmitted:
    name, uid = f"job-{number:07}", f"{number:08x}-1234-4abc-8def-0123456789ab"
    cpu = cpus[number % len(cpus)]
    containers = (Container(requests={"cpu": cpu}),)
    workload_submitted = WorkloadSubmitted(
        at_us=number,
        workload=f"{NAMESPACE}/job-{name}-1a2b3",
        uid=uid,
        job=ObjectRef(kind="batch/job", namespace=NAMESPACE, name=name, uid=uid),
        resource="jobs.batch",
        queue=f"lq-{number % queues}",
        priority=number % 3,
        created_us=number,
        podsets=(PodSet(name="main", containers=containers),),
    )
    return _decode(_encode(workload_submitted))


def _resident() -> int:
    return getrusage(RUSAGE_SELF).ru_maxrss * 1_024

"""Measure what another partition's jobs cost: ``python -m bench.passing [--jobs N] [--runs N]``.

Each job's first observation is taken up, decided about and sealed in partition 0, and passed by in
partition 1: CPU time of one core, without the bus and the database. See docs/adr/0027.
"""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser
from collections.abc import Sequence
from statistics import median

from msgspec.structs import replace

from tidegate.contracts import observations
from tidegate.contracts.chain import GENESIS, seal
from tidegate.contracts.codec import encode
from tidegate.contracts.entry import Message, Position
from tidegate.contracts.facts import Event, LedgerOpened
from tidegate.contracts.subjects import observed_subject
from tidegate.core.accept import accept
from tidegate.core.decide import decide
from tidegate.core.folding.fold import apply
from tidegate.core.state.state import State
from tidegate.model.podset import Container, LabelSelector, PodSet
from tidegate.model.quota import (
    ClusterQueueSpec,
    FlavorQuotas,
    FlavorSpec,
    LocalQueueSpec,
    Quota,
    ResourceGroup,
)

JOBS, RUNS, AT_ONCE = 5_000, 5, 100
RESOURCE = "jobs.batch"


def main(arguments: Sequence[str]) -> int:
    """Measure in turns and print the medians; return 0."""
    parser = ArgumentParser(prog="python -m bench.passing", description=__doc__)
    parser.add_argument("--jobs", type=int, default=JOBS)
    parser.add_argument("--runs", type=int, default=RUNS)
    options = parser.parse_args(arguments)
    pairs = [(cost_us(0, options.jobs), cost_us(1, options.jobs)) for _ in range(options.runs)]
    own, passed = (median(costs) for costs in zip(*pairs, strict=True))
    print(f"a job of the partition's own  {own:.0f} us")
    print(f"a job that is passed by       {passed:.1f} us")
    for partitions in (2, 4, 8):
        share = (partitions - 1) * passed / (own + (partitions - 1) * passed)
        print(f"{partitions} partitions of equal load: {share:.1%} of each core passes jobs by")
    return 0


def cost_us(partition: int, jobs: int) -> float:
    """Return the CPU microseconds that a job of partition 0 costs a partition's scheduler."""
    state, position = open_state(partition)
    head = replace(GENESIS, seq=state.seq, partition=partition)
    messages = [_message(position.seq + number, _job(number)) for number in range(1, jobs + 1)]
    began_s = time.process_time()
    for first in range(0, jobs, AT_ONCE):
        facts, position = accept(state, position, messages[first : first + AT_ONCE])
        events: list[Event] = [*facts]
        if facts:
            events += decide(state, decisions_max=1_000)
        entries = seal(head, 1, "local", events)
        head = entries[-1] if entries else head
    spent_s = time.process_time() - began_s
    admitted = sum(workload.phase == "admitted" for workload in state.workloads.values())
    assert admitted == (0 if partition else jobs)
    return spent_s / jobs * 1_000_000


def open_state(partition: int) -> tuple[State, Position]:
    """Return the state of a partition that knows a queue of partition 0, and its position."""
    state = State()
    apply(state, LedgerOpened(at_us=0, ledger_id="bench", partition=partition))
    quotas = FlavorQuotas(flavor="default", quotas={"cpu": Quota(nominal=10**12)})
    spec = ClusterQueueSpec(
        groups=(ResourceGroup(resources=("cpu",), flavors=(quotas,)),),
        namespace_selector=LabelSelector(),
    )
    leads = LocalQueueSpec(cluster_queue="queue")
    definitions: tuple[observations.Observation, ...] = (
        observations.Heartbeat(session="bench", beat=1, resources=(RESOURCE,)),
        observations.NamespaceObserved(name="team", uid="team", version=1, session="bench"),
        observations.FlavorObserved(
            name="default", uid="default", version=1, session="bench", spec=FlavorSpec()
        ),
        observations.ClusterQueueObserved(
            name="queue", uid="queue", version=1, session="bench", spec=spec
        ),
        observations.LocalQueueObserved(
            namespace="team", name="main", uid="main", version=1, session="bench", spec=leads
        ),
        observations.SyncStarted(resource=RESOURCE, session="bench", round=1),
        observations.SyncCompleted(
            resource=RESOURCE, session="bench", round=1, list_version=1, present=()
        ),
    )
    _, position = accept(
        state, Position(), [_message(seq, each) for seq, each in enumerate(definitions, 1)]
    )
    return state, position


def _job(number: int) -> observations.JobObserved:
    return observations.JobObserved(
        namespace="team",
        name=f"job-{number}",
        uid=f"uid-{number}",
        version=number + 1,
        session="bench",
        kind="batch/job",
        workload=f"team/job-{number}",
        queue="main",
        created_us=number,
        podsets=(PodSet(containers=(Container(requests={"cpu": "1"}),)),),
    )


def _message(seq: int, observation: observations.Observation) -> Message:
    subject = observed_subject("local", RESOURCE, "team", str(seq))
    return Message(Position(1, seq), 1_000_000 + seq, subject, encode(observation))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

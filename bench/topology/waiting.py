"""Measure what waiting for nodes costs: ``python -m bench.topology.waiting [--nodes 640]``.

On nodes that are two thirds full, shapes of jobs wait for a rack that has as many nodes left as
they have pods; beside them small jobs come and go, one at a time. In CPU time of one process.
With ``--evict`` the waiting jobs may evict the small ones, which would not help them.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections import deque
from collections.abc import Sequence
from time import process_time

from msgspec.structs import replace

from bench.topology.__main__ import Size, open_state
from tidegate.contracts import facts
from tidegate.contracts.decisions import WorkloadAdmitted
from tidegate.core.decide import decide
from tidegate.core.folding.fold import apply
from tidegate.core.state.state import State
from tidegate.model.ids import ObjectRef
from tidegate.model.podset import Container, PodSet, TopologyRequest
from tidegate.model.quota import Preemption
from tidegate.model.topology import HOSTNAME

_RACK, _LIVING = 64, 50
_FIRST, _SECOND = 2, 1
"""Priorities of the jobs that fill the nodes, and of the waiting ones; the small jobs have 0."""


def main(arguments: Sequence[str]) -> int:
    """Print what each small job costs; return 0."""
    parser = ArgumentParser(prog="python -m bench.topology.waiting", description=__doc__)
    parser.add_argument("--nodes", type=int, default=640)
    parser.add_argument("--shapes", type=int, default=20, help="of jobs that wait, five of each")
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--evict", action="store_true", help="they may evict the small jobs")
    options = parser.parse_args(arguments)
    state = open_state(Size(options.nodes, 0))
    if options.evict:
        _enable_preemption(state)
    for number in range(options.nodes):
        _submit(state, f"fill-{number}", 1, "60", TopologyRequest(required=HOSTNAME), _FIRST)
    while any(isinstance(decision, WorkloadAdmitted) for decision in decide(state)):
        pass
    for number in range(options.shapes * 5):
        pods = _RACK + number // 5
        _submit(state, f"wait-{number}", pods, "40", TopologyRequest(required="rack"), _SECOND)
    decide(state)
    living, begin = deque[str](), process_time()
    for number in range(options.rounds):
        living.append(f"small-{number}")
        _submit(state, living[-1], 1, "1", TopologyRequest(preferred="rack"))
        decide(state)
        if len(living) > _LIVING:
            gone = living.popleft()
            apply(state, facts.WorkloadFinished(at_us=0, workload=f"n/{gone}", uid=gone))
    each_us = (process_time() - begin) / options.rounds * 1e6
    how = "may evict" if options.evict else "wait"
    print(
        f"{options.nodes} nodes, {options.shapes} shapes {how}: {each_us:.0f} us a job beside them"
    )
    return 0


def _enable_preemption(state: State) -> None:
    cluster_queue_defined = state.objects.cluster_queues["cq"]
    spec = replace(
        cluster_queue_defined.spec, preemption=Preemption(within_cluster_queue="LowerPriority")
    )
    apply(state, replace(cluster_queue_defined, spec=spec))


def _submit(  # noqa: PLR0913, PLR0917 - what differs between these jobs
    state: State,
    name: str,
    pods: int,
    cpu: str,
    topology_request: TopologyRequest,
    priority: int = 0,
) -> None:
    podset = PodSet(
        count=pods, containers=(Container(requests={"cpu": cpu}),), topology=topology_request
    )
    job = ObjectRef(kind="batch/job", namespace="n", name=name, uid=name)
    submitted = facts.WorkloadSubmitted(
        at_us=0,
        workload=f"n/{name}",
        uid=name,
        job=job,
        queue="q",
        podsets=(podset,),
        priority=priority,
    )
    apply(state, submitted)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

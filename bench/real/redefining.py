"""What a change of one definition costs: ``python -m bench.real.redefining [--pending N]``.

Printed is CPU time to fold the change, and to decide all that follows, in a full cluster as users
have it: several cohort trees, and workloads of which nearly each asks for another amount.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from time import process_time_ns

from msgspec.structs import replace

from bench.real.arrivals import jobs
from bench.real.cluster import Cluster
from bench.real.objects import beginning
from bench.real.steps import arrivals_a_second
from tidegate.contracts import facts
from tidegate.contracts.facts import ClusterQueueDefined, FactEvent
from tidegate.model.quota import ClusterQueueSpec, FlavorSpec

_CHANGED = 7
"""The number of the ClusterQueue that is changed."""


def main(arguments: Sequence[str]) -> int:
    """Measure each change once and print a line for it; return 0."""
    parser = ArgumentParser(prog="python -m bench.real.redefining", description=__doc__)
    parser.add_argument("--queues", type=int, default=100)
    parser.add_argument("--pending", type=int, default=10_000, help="submitted workloads")
    parser.add_argument("--fair", action="store_true", help="with fair sharing")
    options = parser.parse_args(arguments)
    cluster = _full(options.queues, options.pending, fair=options.fair)
    cq = list(cluster.state.forest.cluster_queues.values())[_CHANGED]
    own, below = len(cq.shapes), sum(len(other.shapes) for other in cq.tree.cluster_queues)
    _say(f"{own} shapes of workloads in the ClusterQueue, {below} in its cohort tree")
    for name, event in _changes(cluster.state.objects.cluster_queues[cq.name]):
        began_ns = process_time_ns()
        cluster.fold([event])
        folded_ns = process_time_ns()
        cluster.decide()
        ended_ns = process_time_ns()
        fold_ms, decide_ms = (folded_ns - began_ns) / 1e6, (ended_ns - folded_ns) / 1e6
        _say(f"{name}: {fold_ms:.1f} ms to fold, {decide_ms:.1f} ms to decide")
    return 0


def _full(queues: int, pending: int, *, fair: bool) -> Cluster:
    cluster = Cluster()
    cluster.fold(beginning(queues, "tidegate", fair=fair))
    cluster.decide()
    coming = jobs("heavy", queues, arrivals_a_second(queues), seed=0)
    for _ in range(pending):
        job = next(coming)
        cluster.jobs[job.asked.workload] = job
        cluster.fold([replace(job.asked, at_us=0, created_us=0)])
    cluster.decide()
    return cluster


def _changes(defined: ClusterQueueDefined) -> Iterator[tuple[str, FactEvent]]:
    enlarged = scaled(defined.spec, 101)
    yield "a quota of it", replace(defined, spec=enlarged)
    yield "its stopPolicy", replace(defined, spec=replace(enlarged, stop_policy="Hold"))
    yield "its stopPolicy, back", replace(defined, spec=enlarged)
    yield "another ClusterQueue in its cohort", replace(defined, name="beside")
    alone = replace(defined.spec, cohort="")
    yield "another ClusterQueue without a cohort", replace(defined, name="alone", spec=alone)
    yield "a ResourceFlavor", facts.FlavorDefined(at_us=0, name="new", spec=FlavorSpec())


def scaled(spec: ClusterQueueSpec, percent: int) -> ClusterQueueSpec:
    """Return a spec with so many hundredths of each nominal quota."""
    groups = tuple(
        replace(
            group,
            flavors=tuple(
                replace(
                    flavor,
                    quotas={
                        name: replace(quota, nominal=quota.nominal * percent // 100)
                        for name, quota in flavor.quotas.items()
                    },
                )
                for flavor in group.flavors
            ),
        )
        for group in spec.groups
    )
    return replace(spec, groups=groups)


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

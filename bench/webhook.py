"""What the admission webhook costs for each review: ``python -m bench.webhook [--reviews 500]``.

CPU time of evaluating the policies for one AdmissionRequest, without HTTP and TLS: a queued Job, a
ClusterQueue in the older version's spelling, and a Pod; for the default kinds and for all of them.
"""

from __future__ import annotations

import asyncio
import time
from argparse import ArgumentParser
from typing import Any

from tidegate.kinds.manifests import policies
from tidegate.kinds.names import QUEUE_NAME
from tidegate.kinds.policies.frameworks import NAMES
from tidegate.kinds.policies.webhooks import by_path
from tidegate.webhook.mutating import Policy, compile_policies, mutate

Object = dict[str, Any]
ENVIRONMENT = [{"name": f"VARIABLE_{at}", "value": "value"} for at in range(20)]
CONTAINER = {"name": "main", "image": "example.com/train", "env": ENVIRONMENT}
METADATA = {"name": "train", "namespace": "team", "labels": {QUEUE_NAME: "main"}}
OBJECTS: dict[str, tuple[str, str, str, Object]] = {
    "Job": ("batch", "v1", "jobs", {"template": {"spec": {"containers": [CONTAINER]}}}),
    "Pod": ("", "v1", "pods", {"containers": [CONTAINER]}),
    "ClusterQueue": ("kueue.x-k8s.io", "v1beta1", "clusterqueues", {"cohort": "all"}),
}
KINDS = {"batch/job": ("batch/job",), "all": NAMES}


def main() -> None:
    """Measure, and print a table."""
    parser = ArgumentParser(prog="python -m bench.webhook", description=__doc__)
    parser.add_argument("--reviews", type=int, default=500)
    reviews = parser.parse_args().reviews
    print("| kinds | policies | object | ms CPU a review |\n| --- | --: | --- | --: |")
    for kinds, names in KINDS.items():
        manifests = policies(names)
        (compiled_policies,) = (
            compile_policies(rows, manifests) for rows in by_path(manifests).values()
        )
        for kind in OBJECTS:
            cost_ms = asyncio.run(_cost_ms(compiled_policies, _request(kind), reviews))
            print(f"| {kinds} | {len(compiled_policies)} | {kind} | {cost_ms:.2f} |", flush=True)


def _request(kind: str) -> Object:
    group, version, resource, spec = OBJECTS[kind]
    return {
        "uid": "review",
        "operation": "CREATE",
        "namespace": "team",
        "resource": {"group": group, "version": version, "resource": resource},
        "userInfo": {"username": "mara", "groups": ["system:authenticated"]},
        "object": {"metadata": METADATA, "spec": spec},
        "oldObject": None,
    }


async def _cost_ms(compiled_policies: tuple[Policy, ...], request: Object, reviews: int) -> float:
    begun_s = time.process_time()
    for _ in range(reviews):
        await mutate(compiled_policies, request, _missing, _raise)
    return (time.process_time() - begun_s) / reviews * 1_000


async def _missing(*_: str) -> Object | None:
    return None


def _raise(policy: str, why: str) -> None:
    raise AssertionError(f"{policy}: {why}")


if __name__ == "__main__":
    main()

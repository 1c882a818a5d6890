"""What the controllers of job kinds make is theirs: over every kind that owns another."""

from __future__ import annotations

import pytest

from ingest.jobs.scope import Lineage
from tidegate.jobs.job_metadata import unmanaged_job
from tidegate.jobs.kind import JobKind
from tidegate.jobs.registry import JOB_KINDS
from tidegate.kinds.meta import ObjectMeta, OwnerReference

CHAINS = (
    ("ray.io/rayjob", "ray.io/raycluster"),
    ("ray.io/rayservice", "ray.io/raycluster"),
    ("trainer.kubeflow.org/trainjob", "jobset.x-k8s.io/jobset", "batch/job"),
    ("jobset.x-k8s.io/jobset", "batch/job"),
    ("kubeflow.org/mpijob", "batch/job"),
    ("leaderworkerset.x-k8s.io/leaderworkerset", "statefulset"),
    ("workload.codeflare.dev/appwrapper", "kubeflow.org/pytorchjob"),
    ("workload.codeflare.dev/appwrapper", "ray.io/rayjob", "ray.io/raycluster"),
    ("workload.codeflare.dev/appwrapper", "statefulset"),
    ("workload.codeflare.dev/appwrapper", "jobset.x-k8s.io/jobset", "batch/job"),
)
"""Kinds from the top down, as their controllers make them."""


def named(chain: tuple[str, ...]) -> list[tuple[JobKind[object], ObjectMeta]]:
    """Return an object of each kind of a chain, each controlled by the one above."""
    pairs = list[tuple[JobKind[object], ObjectMeta]]()
    for depth, name in enumerate(chain):
        kind = JOB_KINDS[name]
        owners: tuple[OwnerReference, ...] = ()
        if pairs:
            above, owning = pairs[-1]
            owner = OwnerReference(
                api_version=above.api_version,
                kind=above.kind,
                name=owning.name,
                uid=owning.uid,
                controller=True,
            )
            owners = (owner,)
        labels = {"kueue.x-k8s.io/queue-name": "main"}
        meta = ObjectMeta(
            name=f"o{depth}",
            uid=f"u{depth}",
            namespace="team",
            labels=labels,
            owner_references=owners,
        )
        pairs.append((kind, meta))
    return pairs


@pytest.mark.parametrize("chain", CHAINS, ids=" > ".join)
def test_of_a_chain_only_the_topmost_that_asks_is_queued(chain: tuple[str, ...]) -> None:
    objects = named(chain)
    for top in range(len(objects)):
        lineage = Lineage(list(JOB_KINDS.values()))
        for at, (kind, meta) in enumerate(objects):
            list(lineage.add(kind, meta, asks=at >= top, waits=True))
        for at, (kind, meta) in enumerate(objects):
            assert lineage.is_child(kind, meta) == (at > top)


@pytest.mark.parametrize("chain", CHAINS, ids=" > ".join)
def test_while_the_top_waits_what_it_owns_must_not_run(chain: tuple[str, ...]) -> None:
    lineage, objects = Lineage(list(JOB_KINDS.values())), named(chain)
    for at, (kind, meta) in enumerate(objects):
        list(lineage.add(kind, meta, asks=at == 0, waits=True))
    for kind, meta in objects[1:]:
        assert lineage.stray_reason(kind, meta, asks=False) is not None
    kind, meta = objects[0]
    list(lineage.add(kind, meta, asks=True, waits=False))
    for kind, meta in objects[1:]:
        assert lineage.stray_reason(kind, meta, asks=False) is None


@pytest.mark.parametrize("name", [text for text, kind in JOB_KINDS.items() if kind.managed_by])
def test_what_another_controller_runs_is_not_managed(name: str) -> None:
    kind = JOB_KINDS[name]
    assert kind.managed_by is not None
    spec: dict[str, object] = {}
    place = spec
    *parents, field = kind.managed_by.path[1:]
    for parent in parents:
        place[str(parent)] = place = {}
    place[str(field)] = "example.com/other"
    obj = {"metadata": {"name": "o"}, "spec": spec}
    assert kind.managed_by.is_elsewhere(obj)
    place[str(field)] = "kueue.x-k8s.io/multikueue"
    assert not kind.managed_by.is_elsewhere(obj)
    assert kind.managed_by.gates(obj) == ("kueue.x-k8s.io/multikueue",)
    place[str(field)] = kind.managed_by.own
    assert kind.managed_by.gates(obj) == ()
    meta = ObjectMeta(name="o", uid="u", namespace="team")
    assert unmanaged_job(kind, meta).queue == ""

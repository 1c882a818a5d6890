"""Variants as Workload objects: made, changed with their family, and read back."""

from __future__ import annotations

import msgspec

from actuator.projection import objects, rehydrate, siblings
from actuator.projection.workload_view import WorkloadView
from tidegate.jobs.kind import Object
from tidegate.kinds import names
from tidegate.kinds.kueue_api.workloads.workload import Workload
from tidegate.model.ids import ObjectRef

JOB = ObjectRef(kind="batch/job", namespace="team", name="train", uid="u1")
PARENT: Object = {
    "apiVersion": names.API_VERSION,
    "kind": "Workload",
    "metadata": {
        "namespace": "team",
        "name": "job-train",
        "uid": "w1",
        "labels": {names.CONCURRENT_PARENT: "true", "cost-center": "7"},
        "annotations": {names.DECISION: "L1/1", "provreq.kueue.x-k8s.io/size": "l"},
        "ownerReferences": [
            {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "u1"}
            | {"controller": True}
        ],
    },
    "spec": {
        "podSets": [{"name": "main", "count": 1, "template": {"spec": {"containers": []}}}],
        "preemptionGates": [{"name": "theirs"}],
    },
}


def variant() -> WorkloadView:
    return WorkloadView(
        key="team/job-train-fast",
        uid="u1",
        job=JOB,
        decision="L1/2",
        parent="team/job-train",
        flavor="fast",
        queue="main",
    )


def made(shown: WorkloadView) -> Object:
    return siblings.variant_object(shown, PARENT, objects.wanted_spec(shown, {}))


def test_a_variant_is_as_its_parent_but_for_its_flavor_and_its_gate() -> None:
    obj = made(variant())
    meta, spec = obj["metadata"], obj["spec"]
    assert meta["labels"] == {"cost-center": "7", names.JOB_UID: "u1"}
    assert meta["annotations"][names.ALLOWED_FLAVORS] == "fast"
    assert meta["annotations"]["provreq.kueue.x-k8s.io/size"] == "l"
    assert [gate["name"] for gate in spec["preemptionGates"]] == [
        "theirs",
        "kueue.x-k8s.io/concurrent-admission",
    ]
    assert spec["podSets"] == PARENT["spec"]["podSets"]


def test_a_family_is_read_back_as_it_was_written() -> None:
    obj = made(variant())
    opened = {"lastTransitionTime": "2026-03-01T08:00:00Z", "position": "Open"}
    gates = siblings.gate_states(msgspec.structs.replace(variant(), ungated_us=1), [])
    obj["status"] = {"preemptionGates": [{**gates[0], **opened}]}
    read = rehydrate.view_of_workload(msgspec.convert(obj, Workload))
    assert read is not None
    assert (read.parent, read.flavor, read.job, read.prebuilt) == (
        "team/job-train",
        "fast",
        JOB,
        "",
    )
    assert read.ungated_us == 1_772_352_000_000_000
    parent = rehydrate.view_of_workload(msgspec.convert(PARENT, Workload))
    assert parent is not None
    assert (parent.has_variants, parent.phase, parent.parent) == (True, "parent", "")


def test_a_variant_that_gives_way_is_inactive_and_a_parent_without_variants_is_none() -> None:
    shown = variant()
    shown.phase = "inactive"
    wanted: Object = {"metadata": {}, "spec": {}}
    siblings.set_variant_metadata(wanted, shown)
    assert wanted == {"metadata": {}, "spec": {"active": False}}
    alone = WorkloadView(key="team/job-train", uid="u1", job=JOB)
    wanted = {"metadata": {"labels": dict(PARENT["metadata"]["labels"])}, "spec": {}}
    siblings.set_variant_metadata(wanted, alone)
    assert wanted == {"metadata": {"labels": {"cost-center": "7"}}, "spec": {}}

"""A copy is what its owner wrote, suspended and marked, and nothing of Tidegate's or Kueue's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.parts.drawn import drawn
from tidegate.contracts.subjects import BODY_BYTES_MAX
from tidegate.errors import TooLargeError, UndecodableError
from tidegate.jobs.kind import JobKind, Object
from tidegate.jobs.placed.body import body_of, digest_of, is_reserved_name
from tidegate.jobs.placed.copy import Identity, copy_of, without_reserved
from tidegate.jobs.registry import JOB_KINDS
from tidegate.kinds import names

JOB, JOBSET = JOB_KINDS["batch/job"], JOB_KINDS["jobset.x-k8s.io/jobset"]
ORIGIN = "uid-1@east"
MARKS = {names.ORIGIN, names.ORIGIN_QUEUE}
RESERVED = (
    *(names.QUEUE_NAME, names.DECISION, names.INJECTED, names.ORIGIN, names.PREBUILT_WORKLOAD),
    *("provreq.kueue.x-k8s.io/class", "KUEUE.x-k8s.io/managed", "a.tidegate.dev/b", names.MANAGED),
)
KEYS = st.sampled_from([*RESERVED, "team", "example.com/kueue.x-k8s.io", "job-name"])
TEXTS = st.dictionaries(KEYS, st.text(max_size=5), max_size=5)
METADATA = st.fixed_dictionaries(
    {"labels": TEXTS, "annotations": TEXTS, "finalizers": st.lists(KEYS, max_size=3)}
)
GATES = st.lists(st.fixed_dictionaries({"name": KEYS}), max_size=3)
PODS = st.fixed_dictionaries(
    {
        "containers": st.just([{"name": "c", "image": "i"}]),
        "nodeSelector": st.dictionaries(KEYS, st.just("x"), max_size=2),
    },
    optional={"schedulingGates": GATES},
)
TEMPLATE = st.fixed_dictionaries({"metadata": METADATA, "spec": PODS})
SPECS = {
    JOB.name: st.fixed_dictionaries(
        {"template": TEMPLATE, "suspend": st.booleans(), "managedBy": st.just(names.PLACED)},
        optional={"parallelism": st.integers(0, 9), "selector": st.just({"matchLabels": {}})},
    ),
    JOBSET.name: st.fixed_dictionaries(
        {
            "managedBy": st.just(names.PLACED),
            "replicatedJobs": st.lists(
                st.fixed_dictionaries(
                    {
                        "name": st.just("w"),
                        "template": st.fixed_dictionaries(
                            {
                                "metadata": METADATA,
                                "spec": st.fixed_dictionaries({"template": TEMPLATE}),
                            }
                        ),
                    }
                ),
                max_size=2,
            ),
        }
    ),
}


@st.composite
def jobs(draw: st.DrawFn, kind: JobKind[Any]) -> Object:
    """Return a job at home as the API server has it."""
    meta: Object = draw(METADATA) | {
        "name": "train",
        "namespace": "team",
        "uid": "uid-1",
        "resourceVersion": str(draw(st.integers(1, 9))),
        "managedFields": [{"manager": "kubectl"}],
        "ownerReferences": [{"kind": "CronJob", "name": "c", "uid": "u", "controller": True}],
    }
    status: Object = {"active": draw(st.integers(0, 3))}
    return {"metadata": meta, "spec": draw(SPECS[kind.name]), "status": status}


def wanted(kind: JobKind[Any], body: bytes, **changes: str) -> Identity:
    asked = {"namespace": "team", "name": "train", "digest": digest_of(body), "origin": ORIGIN}
    return Identity(kind=kind, **{**asked, **changes})


def reserved_in(node: object) -> Iterator[str]:
    """Yield each label, annotation, finalizer and gate of an object that is ours or Kueue's."""
    if isinstance(node, list):
        for item in node:
            yield from reserved_in(item)
    if isinstance(node, dict):
        meta = node.get("metadata") or {}
        gates = [gate["name"] for gate in node.get("schedulingGates") or ()]
        noted = [*(meta.get("labels") or ()), *(meta.get("annotations") or ())]
        yield from filter(is_reserved_name, [*noted, *gates, *(meta.get("finalizers") or ())])
        for value in node.values():
            yield from reserved_in(value)


@pytest.mark.parametrize("kind", [JOB, JOBSET], ids=lambda kind: kind.name)
@drawn(40)
@given(data=st.data())
def test_nothing_of_ours_or_of_kueue_s_or_of_home_survives(
    kind: JobKind[Any], data: st.DataObject
) -> None:
    job = data.draw(jobs(kind))
    body = body_of(kind, job)
    made = copy_of(body, wanted(kind, body))
    assert set(reserved_in(made)) == MARKS
    assert set(made) == {"apiVersion", "kind", "metadata", "spec"}
    assert set(made["metadata"]) == {"namespace", "name", "labels", "annotations"}
    assert made["spec"]["suspend"] is True
    assert "managedBy" not in made["spec"]
    assert made["metadata"]["annotations"][names.ORIGIN] == ORIGIN
    queue = job["metadata"]["labels"].get(names.QUEUE_NAME, "")
    assert made["metadata"]["annotations"][names.ORIGIN_QUEUE] == queue
    kept = {key for key in job["metadata"]["annotations"] if not is_reserved_name(key)}
    assert set(made["metadata"]["annotations"]) - MARKS == kept


@pytest.mark.parametrize("kind", [JOB, JOBSET], ids=lambda kind: kind.name)
@drawn(40)
@given(data=st.data())
def test_what_is_clean_stays_as_it_is(kind: JobKind[Any], data: st.DataObject) -> None:
    body = body_of(kind, data.draw(jobs(kind)))
    made = copy_of(body, wanted(kind, body))
    assert without_reserved(made["spec"]) == made["spec"]
    again = body_of(kind, made)
    made_again = copy_of(again, wanted(kind, again))
    assert made_again["spec"] == made["spec"]
    assert made_again["metadata"]["labels"] == made["metadata"]["labels"]


@drawn(40)
@given(data=st.data())
def test_a_body_is_the_same_whatever_becomes_of_its_job(data: st.DataObject) -> None:
    job, other = data.draw(jobs(JOB)), data.draw(jobs(JOB))
    meta: Object = job["metadata"] | {"resourceVersion": "77", "finalizers": [], "uid": "another"}
    meta["annotations"] = {**meta["annotations"], names.DECISION: "ledger/9"}
    spec = {**job["spec"], "suspend": not job["spec"]["suspend"]}
    later = {"metadata": meta, "spec": spec, "status": other["status"]}
    assert body_of(JOB, later) == body_of(JOB, job)


def deep(levels: int) -> bytes:
    """Return a body with so many objects within each other."""
    inner = b'{"a":' * levels + b"1" + b"}" * levels
    return BODY.replace(b'"spec":{}', b'"spec":' + inner)


META = '"metadata":{"namespace":"team","name":"train","labels":{}}'
BODY = f'{{"apiVersion":"batch/v1","kind":"Job",{META},"spec":{{}}}}'.encode()
HOSTILE = {
    "not JSON": (b"{", "no object"),
    "a list": (b"[]", "no object"),
    "deep": (deep(70), "within each other"),
    "deeper than a stack": (deep(20_000), "no object|within each other"),
    "a field more": (BODY.replace(b'"kind"', b'"status":{},"kind"', 1), "of its own: 'status'"),
    "another kind": (BODY.replace(b'"Job"', b'"Pod"'), "another job"),
    "another name": (BODY.replace(b"train", b"other"), "another job"),
    "another namespace": (BODY.replace(b'"team"', b'"kube-system"'), "another job"),
    "a number for a label": (BODY.replace(b'"labels":{}', b'"labels":{"a":1}'), "not all of these"),
    "a list for labels": (BODY.replace(b'"labels":{}', b'"labels":[]'), "not an object"),
    "a text for a spec": (BODY.replace(b'"spec":{}', b'"spec":"x"'), "not an object"),
    "too large": (BODY + b" " * BODY_BYTES_MAX, "not the one"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_body_makes_no_copy(name: str) -> None:
    body, why = HOSTILE[name]
    with pytest.raises(UndecodableError, match=why):
        copy_of(body, wanted(JOB, body))


def test_a_body_of_another_digest_makes_no_copy() -> None:
    assert copy_of(BODY, wanted(JOB, BODY))["metadata"]["name"] == "train"
    with pytest.raises(UndecodableError, match="not the one that was ordered"):
        copy_of(BODY + b" ", wanted(JOB, BODY))


@drawn(60)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    ),
    st.sampled_from(["metadata", "spec", "kind", "apiVersion"]),
)
def test_any_json_in_a_body_makes_a_copy_or_says_why_not(content: object, field: str) -> None:
    body = msgspec.json.encode({**msgspec.json.decode(BODY), field: content})
    try:
        made = copy_of(body, wanted(JOB, body))
    except UndecodableError:
        return
    assert made["metadata"]["namespace"] == "team"
    assert set(reserved_in(made)) <= MARKS


def test_a_job_that_is_too_large_has_no_body() -> None:
    spec = {"template": {"spec": {"containers": ["x" * BODY_BYTES_MAX]}}}
    with pytest.raises(TooLargeError, match="at most"):
        body_of(JOB, {"metadata": {"name": "a", "namespace": "b"}, "spec": spec})

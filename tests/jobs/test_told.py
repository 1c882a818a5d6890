"""What stands on an object of decisions, and what becomes of fields that say nonsense."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingest.settings import Settings
from tests.jobs.cases import MODULES, start_of, stop_of
from tests.jobs.walking import carried_out
from tests.parts.foreign import declarations
from tidegate.cli.commands.manifests import manifests_of_file
from tidegate.errors import NotSupportedError, UndecodableError
from tidegate.jobs import registry, workload
from tidegate.jobs.job_metadata import stray_job
from tidegate.jobs.kind import Object
from tidegate.jobs.registry import check_frameworks, is_supported, job_kind
from tidegate.jobs.templates.notes import newest_decision_seq, without_decision
from tidegate.jobs.templates.paths import number_of, object_at, with_value
from tidegate.kinds.decode import read
from tidegate.kinds.meta import ObjectMeta
from tidegate.kinds.names import DECISION, INJECTED, JOB_UID, ORDERED, VARIANT_FOR

PODS: Object = {"spec": {"containers": [{"name": "c"}]}}
WRAPPER: Object = {
    "metadata": {"namespace": "team", "name": "a", "uid": "u1"},
    "spec": {
        "suspend": True,
        "components": [{"template": {"apiVersion": "v1", "kind": "Pod", **PODS}}],
    },
}


def with_messages(*messages: object, decision: str = "") -> Object:
    conditions = [{"type": ORDERED, "message": message} for message in messages]
    marks = {DECISION: decision} if decision else {}
    return {"metadata": {"annotations": marks}, "status": {"conditions": conditions}}


@pytest.mark.parametrize(
    ("obj", "seq"),
    [
        (with_messages(), 0),
        (with_messages("L1/7"), 7),
        (with_messages("L1/7", decision="L1/9"), 9),
        (with_messages("L1/7", decision="L2/9"), 7),
        (with_messages(7, "L1/x"), 0),
        ({"metadata": {}, "status": {"conditions": "none"}}, 0),
        ({"metadata": {}}, 0),
    ],
)
def test_the_newest_decision_counts_wherever_an_object_bears_it(obj: Object, seq: int) -> None:
    assert newest_decision_seq(obj, "L1") == seq
    assert newest_decision_seq(without_decision(obj), "L1") == 0


def test_what_is_taken_off_is_the_decision_and_nothing_else() -> None:
    obj = with_messages("L1/7", decision="L1/9")
    obj["status"]["conditions"].append({"type": "Finished", "message": "L1/7"})
    left = {
        "metadata": {"annotations": {}},
        "status": {"conditions": obj["status"]["conditions"][1:]},
    }
    assert without_decision(obj) == left
    assert without_decision({"metadata": {}}) == {"metadata": {"annotations": {}}}


@pytest.mark.parametrize(("path", "whole"), [(("a",), {}), (("b",), {"c": 1})])
def test_an_object_that_is_not_there_is_empty(path: tuple[str, ...], whole: Object) -> None:
    assert object_at({"b": {"c": 1}}, path) == whole


def test_where_something_else_stands_nothing_is_read_nor_written() -> None:
    with pytest.raises(UndecodableError, match="not an object"):
        object_at({"a": [1]}, ("a",))
    with pytest.raises(UndecodableError, match="nothing that could hold it"):
        with_value({"a": "text"}, ("a", "b"), 1)
    assert [number_of({"a": text}, ("a",)) for text in (None, 3, "x", -1)] == [0, 3, 1, 1]


@pytest.mark.parametrize(
    "template",
    [
        {"metadata": {"labels": ["a"]}},
        {"metadata": {"annotations": {"a": 1}}},
        {"spec": {"nodeSelector": "all"}},
        {"spec": {"tolerations": {"key": "a"}}},
        {"spec": {"schedulingGates": ["a"]}},
    ],
)
def test_a_start_puts_nothing_into_a_template_that_is_none(template: Object) -> None:
    job = {
        "metadata": {"namespace": "team", "name": "a", "uid": "u1"},
        "spec": {
            "suspend": True,
            "replicatedJobs": [{"name": "w", "template": {"spec": {"template": template}}}],
        },
    }
    start = {"seq": 7, "podsets": [{"name": "w", "count": 1, "labels": {"a": "b"}}]}
    with pytest.raises(UndecodableError, match="A pod template is none: "):
        MODULES["jobset"].start(start_of({"start": start}), job)


def test_of_an_altered_note_a_stop_takes_out_all_that_a_start_gave_beside_a_component() -> None:
    kind, given = MODULES["app_wrapper"], [{"name": "a-0", "count": 1, "labels": {"a": "b"}}]
    started = carried_out(kind, WRAPPER, start_of({"start": {"seq": 7, "podsets": given}}))
    assert started["spec"]["components"][0]["podSetInfos"] == [{"labels": {"a": "b"}}]
    started["metadata"]["annotations"][INJECTED] = "nonsense"
    assert carried_out(kind, started, stop_of(8, given))["spec"] == WRAPPER["spec"]


@pytest.mark.parametrize(("ended", "stray"), [("", "OwnerWaits"), ("Complete", None)])
def test_what_must_not_run_is_astray_until_it_has_ended(ended: str, stray: str | None) -> None:
    conditions = [{"type": ended, "status": "True"}] if ended else []
    job: Object = {"metadata": {"name": "a"}, "spec": {}, "status": {"conditions": conditions}}
    observation = stray_job(
        MODULES["batch_job"], read(job["metadata"], ObjectMeta), job, "OwnerWaits", "said"
    )
    assert (observation.stray, observation.message, observation.podsets) == (stray, "said", ())


@pytest.mark.parametrize(
    ("name", "resource", "version", "path"),
    [
        ("batch/job", "jobs.batch", "batch/v1", "/apis/batch/v1/namespaces/team/jobs/a"),
        ("pod", "pods", "v1", "/api/v1/namespaces/team/pods/a"),
    ],
)
def test_an_object_is_where_its_group_and_its_version_say(
    name: str, resource: str, version: str, path: str
) -> None:
    kind = job_kind(name)
    assert (kind.resource, kind.api_version, kind.path("team", "a")) == (resource, version, path)
    assert kind.path("team") == path.removesuffix("/a")
    assert path.startswith(kind.path().removesuffix(kind.plural))


def test_kinds_are_known_by_kueues_names() -> None:
    assert [is_supported(text) for text in ("batch/job", "deployment", "batch/cronjob")] == [
        True,
        True,
        False,
    ]
    with pytest.raises(NotSupportedError, match="no job kind"):
        job_kind("batch/cronjob")
    groups = {name for name in ("pod", "pod-group", "statefulset") if job_kind(name).is_group}
    assert groups == {"pod-group"}


@pytest.mark.parametrize(("managed", "asks"), [("true", True), ("false", False), (None, False)])
def test_only_a_pod_that_was_gated_when_it_was_made_asks_for_admission(
    managed: str | None, *, asks: bool
) -> None:
    labels = {} if managed is None else {"kueue.x-k8s.io/managed": managed}
    assert job_kind("pod").may_manage(ObjectMeta(labels=labels)) == asks


@pytest.mark.parametrize(
    ("labels", "annotations", "owners", "orphan"),
    [
        ({}, {}, [], False),
        ({JOB_UID: "u"}, {}, [], True),
        ({}, {VARIANT_FOR: "w"}, [], True),
        ({}, {DECISION: "L1/7"}, [], True),
        ({JOB_UID: "u"}, {}, [{"kind": "Job", "name": "a", "uid": "u"}], False),
    ],
)
def test_a_workload_is_an_orphan_if_it_was_made_of_something_and_nothing_owns_it(
    labels: dict[str, str], annotations: dict[str, str], owners: list[Object], *, orphan: bool
) -> None:
    metadata = {"labels": labels, "annotations": annotations, "ownerReferences": owners}
    assert workload.is_orphan(read(metadata, ObjectMeta)) == orphan


def test_the_podsets_of_a_workload_are_those_that_stand_in_it() -> None:
    podsets = [{"name": "main", "count": 1, "template": PODS}]
    assert workload.podsets({"spec": {"podSets": podsets}}) == podsets


def test_a_declared_kind_is_in_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "JOB_KINDS", dict(registry.JOB_KINDS))
    monkeypatch.setattr(registry, "_DECLARED", set())
    registry.register_declared([])
    declaration = declarations()["voyage"]
    for _ in range(2):  # a service may read its configuration again
        registry.register_declared([declaration])
    assert job_kind(declaration.name).plural == "voyages"


def test_a_kind_that_there_is_not_is_refused_with_those_that_there_are() -> None:
    check_frameworks(("batch/job", "deployment"))
    with pytest.raises(NotSupportedError, match=r"no job kind 'batch/jobs'; known: .*deployment"):
        check_frameworks(("batch/job", "batch/jobs"))
    with pytest.raises(NotSupportedError, match="batch/jobs"):
        Settings().kinds(("batch/jobs",))


def test_no_manifests_are_made_for_a_kind_that_there_is_not(tmp_path: Path) -> None:
    config = tmp_path / "kueue.yaml"
    head = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
    config.write_text(head + "integrations: {frameworks: [batch/jobs]}\n")
    with pytest.raises(NotSupportedError, match="batch/jobs"):
        manifests_of_file(str(config))

"""Copies of other clusters' jobs: made from a body that was ordered, started, and removed."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from msgspec.structs import replace

from actuator.events import member_filter
from tests.actuator.scene import Scene, ref, start
from tests.parts.stage import JOBS, Object, alongside, eventually, job
from tests.parts.virtual import run_virtually
from tidegate.contracts.decision_kinds.copies import CopyOrdered, CopyRemovalOrdered
from tidegate.contracts.decisions import QuotaReleased
from tidegate.contracts.fact_kinds.clusters import CopyReported
from tidegate.contracts.facts import Event
from tidegate.contracts.observations import ActuationReported, JobState
from tidegate.jobs.placed.body import body_of, digest_of
from tidegate.jobs.registry import JOB_KINDS
from tidegate.kinds import names
from tidegate.kube.ports import Response
from tidegate.model.ids import ObjectRef

WORKLOAD, ORIGIN = "default/job-train@east", "uid-1@east"
NAMESPACES = "/api/v1/namespaces"
COPY = ObjectRef(kind="batch/job", namespace="default", name="train", cluster="west")
HOME = replace(COPY, uid=ORIGIN, cluster="east")
BODY = body_of(JOB_KINDS["batch/job"], job(managedBy=names.PLACED))
RELEASED = QuotaReleased(at_us=3, workload=WORKLOAD, uid=ORIGIN)


def ordered(body: bytes = BODY, copy: ObjectRef = COPY) -> CopyOrdered:
    digest = digest_of(body)
    return CopyOrdered(at_us=1, workload=WORKLOAD, uid=ORIGIN, job=HOME, copy=copy, body=digest)


def removal(obj: Object, origin: str = ORIGIN) -> CopyRemovalOrdered:
    copy = replace(COPY, uid=f"{obj['metadata']['uid']}@west")
    return CopyRemovalOrdered(at_us=4, workload=WORKLOAD, uid=origin, copy=copy, reason="Evicted")


def accepts(scene: Scene, label: str = "true") -> None:
    """Label the namespace, which is there."""
    scene.change(f"{NAMESPACES}/default", {"metadata": {"labels": {names.ACCEPTS_PLACED: label}}})


@asynccontextmanager
async def west(*events: Event, body: bytes = BODY, label: str = "true") -> AsyncGenerator[Scene]:
    """Run west's actuator, once these events and the body stand on the bus."""
    scene = Scene()
    accepts(scene, label)
    await scene.bus.bodies("east").put(digest_of(body), body)
    await scene.write(*events)
    async with alongside(scene.actuator(as_read=member_filter("west")).run()):
        yield scene


def jobs_of(scene: Scene) -> list[Object]:
    documents: list[Object] = scene.read(JOBS)["items"]
    return documents


def test_a_copy_is_made_suspended_then_started_by_its_uid_then_removed() -> None:
    async def run() -> None:
        async with west(ordered()) as scene:
            await eventually(lambda: bool(jobs_of(scene)))
            [made] = jobs_of(scene)
            marks = {names.ORIGIN: ORIGIN, names.ORIGIN_QUEUE: "main"}
            assert made["metadata"]["annotations"] == marks
            assert names.QUEUE_NAME not in made["metadata"]["labels"]
            assert made["spec"]["suspend"] is True
            assert "managedBy" not in made["spec"]
            named = replace(ref(made), uid=f"{ref(made).uid}@west", cluster="west")
            await scene.write(replace(start(made), workload=WORKLOAD, uid=ORIGIN, job=named))
            await eventually(lambda: not scene.job()["spec"]["suspend"])
            await scene.write(removal(made))
            await eventually(lambda: "deletionTimestamp" in scene.job()["metadata"])
            assert scene.job()["metadata"]["finalizers"] == ["foregroundDeletion"]

    run_virtually(run())


HOSTILE: dict[str, tuple[CopyOrdered, bytes, str, str]] = {
    "no label": (ordered(), BODY, "", "forbidden"),
    "another label": (ordered(), BODY, "false", "forbidden"),
    "no body": (replace(ordered(), body="a" * 64), BODY, "true", "BodyMissing"),
    "another kind": (ordered(copy=replace(COPY, kind="pod")), BODY, "true", "invalid"),
    "no JSON": (ordered(b"{"), b"{", "true", "invalid"),
    "another's": (ordered(copy=replace(COPY, name="other")), BODY, "true", "invalid"),
    "a path for a namespace": (
        ordered(copy=replace(COPY, namespace="default/pods")),
        BODY,
        "true",
        "invalid",
    ),
    "a path for a name": (ordered(copy=replace(COPY, name="../train")), BODY, "true", "invalid"),
    "a digest of any length": (
        replace(ordered(), body="a" * 9_999),
        BODY,
        "true",
        "BodyMissing",
    ),
    "no namespace": (ordered(copy=replace(COPY, namespace="x")), BODY, "true", "forbidden"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_not_as_it_should_be_makes_no_copy(name: str) -> None:
    async def run() -> None:
        order, body, label, reason = HOSTILE[name]
        async with west(order, body=body, label=label) as scene:
            report = await scene.hear(ActuationReported)
            assert (report.reason, report.workload) == (reason, "default/job-train")
            assert report.decision.endswith("/1")
            assert report.origin == ORIGIN
            assert jobs_of(scene) == []

    run_virtually(run())


def test_a_body_that_its_digest_does_not_name_makes_no_copy() -> None:
    async def run() -> None:
        async with west(label="true") as scene:
            await scene.bus.bodies("east").put(digest_of(BODY), BODY.replace(b"train", b"evil!"))
            await scene.write(ordered())
            assert (await scene.hear(ActuationReported)).reason == "BodyMissing"
            assert jobs_of(scene) == []

    run_virtually(run())


@pytest.mark.parametrize("origin", ["", "uid-2@east", "uid-1"])
def test_an_object_of_another_origin_is_left_alone(origin: str) -> None:
    async def run() -> None:
        async with west() as scene:
            other = job()
            other["metadata"]["annotations"] = {names.ORIGIN: origin} if origin else {}
            made = scene.make(JOBS, other)
            await scene.write(ordered())
            assert (await scene.hear(ActuationReported)).reason == "NameTaken"
            others = replace(ref(made), uid="of-a-copy")
            order = removal(made) if origin else replace(removal(made), copy=others)
            await scene.write(order, ordered())
            await scene.hear(
                ActuationReported, lambda observation: observation.decision.endswith("/3")
            )
            assert scene.job() == made

    run_virtually(run())


def test_a_copy_whose_mark_was_taken_away_is_removed_by_its_uid() -> None:
    async def run() -> None:
        async with west() as scene:
            await scene.write(removal(scene.make(JOBS, job())))
            await eventually(lambda: "deletionTimestamp" in scene.job()["metadata"])

    run_virtually(run())


def test_ordered_again_a_copy_is_made_once() -> None:
    async def run() -> None:
        async with west(ordered()) as scene:
            await eventually(lambda: bool(jobs_of(scene)))
            await scene.write(ordered(), replace(ordered(), copy=replace(COPY, name="absent")))
            await scene.hear(ActuationReported)
            assert sum(method == "POST" for method, _ in scene.api.requests) == 1

    run_virtually(run())


@pytest.mark.parametrize("outstanding", [True, False])
def test_after_a_restart_a_copy_is_made_unless_it_was_seen_or_is_not_needed(
    *, outstanding: bool
) -> None:
    async def run() -> None:
        seen = CopyReported(
            at_us=2,
            uid=ORIGIN,
            workload=WORKLOAD,
            copy=replace(COPY, uid="c@west"),
            state=JobState(),
        )
        for event in (seen, RELEASED):
            events = (ordered(),) if outstanding else (ordered(), event)
            async with west(*events) as scene:
                probe = replace(ordered(copy=replace(COPY, kind="pod")), uid="uid-9@east")
                await scene.write(probe)
                await scene.hear(ActuationReported)
                if outstanding:
                    await eventually(lambda: bool(jobs_of(scene)))
                assert bool(jobs_of(scene)) is outstanding

    run_virtually(run())


def test_an_order_for_another_member_makes_nothing_here() -> None:
    async def run() -> None:
        elsewhere = ordered(copy=replace(COPY, cluster="north"))
        async with west(elsewhere, ordered(b"{"), body=b"{") as scene:
            assert (await scene.hear(ActuationReported)).decision.endswith("/2")
            assert jobs_of(scene) == []

    run_virtually(run())


@pytest.mark.parametrize(("times", "reason"), [(3, ""), (10**6, "unreachable")])
def test_a_busy_api_server_is_asked_again_for_a_while(times: int, reason: str) -> None:
    async def run() -> None:
        async with west() as scene:
            refusals = iter(range(times))

            async def busy(method: str, _path: str) -> Response | None:
                return (
                    Response(503, b"{}")
                    if method == "POST" and next(refusals, None) is not None
                    else None
                )

            scene.api.before = busy
            await scene.write(ordered())
            if reason:
                assert (await scene.hear(ActuationReported)).reason == reason
            else:
                await eventually(lambda: bool(jobs_of(scene)))

    run_virtually(run())

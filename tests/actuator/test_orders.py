"""Decisions carried out on the embedded API server, with everything that can come between."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from tests.actuator.scene import LEDGER, Scene, ref, start, stop
from tests.parts.interposed import Interposed
from tests.parts.stage import JOBS, alongside, eventually, job
from tests.parts.virtual import run_virtually
from tidegate.contracts.decisions import WorkloadExpired
from tidegate.contracts.observations import ActuationReported
from tidegate.kube.ports import Response

SPOT = {"type": "spot"}


def refusal(status: int, message: str = "no") -> Response:
    return Response(status, msgspec.json.encode({"kind": "Status", "message": message}))


def test_a_start_unsuspends_places_and_names_its_decision() -> None:
    async def run() -> None:
        scene = Scene()
        made = scene.make(JOBS, job())
        async with alongside(scene.actuator().run()):
            seq = await scene.write(start(made, node_selector=SPOT))
            await eventually(lambda: not scene.job()["spec"]["suspend"])
        obj = scene.job()
        assert obj["spec"]["template"]["spec"]["nodeSelector"] == SPOT
        assert scene.decision() == f"{LEDGER}/{seq}"
        assert scene.patches() == 1

    run_virtually(run())


def test_a_stop_takes_steps_and_leaves_the_template_as_it_was() -> None:
    async def run() -> None:
        scene = Scene()
        made = scene.running_job()
        async with (
            alongside(scene.controller_manager.run()),
            alongside(scene.actuator().run()),
        ):
            await scene.write(start(made, node_selector={"kubernetes.io/hostname": "node-0"}))
            await eventually(lambda: scene.job().get("status", {}).get("ready", 0) == 1)
            seq = await scene.write(stop(made))
            await eventually(lambda: scene.job()["spec"] == made["spec"])
        obj = scene.job()
        assert obj["metadata"]["annotations"] == {"tidegate.dev/decision": f"{LEDGER}/{seq}"}
        assert "startTime" not in obj["status"]

    run_virtually(run())


def test_a_slow_job_controller_is_not_waited_for_for_ever() -> None:
    async def run() -> None:
        scene = Scene()
        made = scene.make(JOBS, job())
        async with alongside(scene.actuator().run()):
            await scene.write(start(made, node_selector=SPOT))
            await eventually(lambda: not scene.job()["spec"]["suspend"])
            started = {"status": {"startTime": "2026-03-01T08:00:00Z"}}
            scene.change(f"{JOBS}/train/status", started)
            await scene.write(stop(made))  # no Job controller is simulated
            await eventually(lambda: scene.job()["spec"] == made["spec"], within_s=10)

    run_virtually(run())


def test_only_the_newest_of_many_orders_is_carried_out() -> None:
    async def run() -> None:
        scene = Scene()
        made = scene.make(JOBS, job())
        orders = [start(made) if at % 2 else stop(made) for at in range(9)]
        seq = await scene.write(*orders, start(made, node_selector=SPOT))
        async with alongside(scene.actuator().run()):
            await eventually(lambda: not scene.job()["spec"]["suspend"])
        assert (scene.decision(), scene.patches()) == (f"{LEDGER}/{seq}", 1)

    run_virtually(run())


def test_an_answer_that_is_lost_is_not_asked_for_by_doing_it_twice() -> None:
    async def run() -> None:
        scene = Scene()
        made = scene.make(JOBS, job())
        scene.api.answers_lost = 1
        async with alongside(scene.actuator().run()):
            await scene.write(start(made))
            await eventually(lambda: not scene.job()["spec"]["suspend"])
            await asyncio.sleep(60)
        assert scene.patches() == 1
        assert await scene.heard() == []

    run_virtually(run())


@pytest.mark.parametrize("slow", ["GET", "PATCH"])
def test_a_late_start_does_not_beat_a_stop(slow: str) -> None:
    async def run() -> None:
        scene = Scene()
        made = scene.make(JOBS, job())
        late, held = Interposed(scene.embedded), asyncio.Event()

        async def hold(method: str, _path: str) -> None:
            if method == slow:
                await held.wait()

        late.before = hold
        seq = await scene.write(start(made))
        async with alongside(scene.actuator("zombie", late, lease="of its own").run()):
            await eventually(lambda: (slow, f"{JOBS}/train") in late.requests)
            seq = await scene.write(stop(made))
            async with alongside(scene.actuator("heir").run()):
                await eventually(lambda: scene.decision() == f"{LEDGER}/{seq}")
                held.set()
                await asyncio.sleep(60)
        assert scene.job()["spec"]["suspend"] is True
        tried = [path for method, path in late.requests if method == "PATCH"]
        assert tried == [f"{JOBS}/train"] * (slow == "PATCH")  # what was seen stopped is not tried

    run_virtually(run())


def test_another_clients_change_in_between_is_kept() -> None:
    async def run() -> None:
        scene = Scene()
        made = scene.make(JOBS, job())

        async def meddle(method: str, _path: str) -> None:
            if method == "PATCH":
                scene.api.before = None
                scene.change(f"{JOBS}/train", {"metadata": {"labels": {"touched": "yes"}}})

        scene.api.before = meddle
        async with alongside(scene.actuator().run()):
            await scene.write(start(made))
            await eventually(lambda: not scene.job()["spec"]["suspend"])
        assert scene.job()["metadata"]["labels"]["touched"] == "yes"
        assert scene.patches() == 2

    run_virtually(run())


def test_a_job_that_changed_after_the_decision_is_reported_stale() -> None:
    async def run() -> None:
        scene = Scene()
        made = scene.make(JOBS, job())
        scene.change(f"{JOBS}/train", {"spec": {"parallelism": 5}})
        async with alongside(scene.actuator().run()):
            seq = await scene.write(start(made, generation=1))
            observations = await scene.hear(ActuationReported)
        assert (observations.reason, observations.decision, observations.job) == (
            "stale",
            f"{LEDGER}/{seq}",
            ref(made),
        )
        assert scene.patches() == 0

    run_virtually(run())


def test_a_namesake_is_never_touched() -> None:
    async def run() -> None:
        scene = Scene()
        made = scene.make(JOBS, job())
        scene.remove(f"{JOBS}/train")
        scene.make(JOBS, job())
        async with alongside(scene.actuator().run()):
            await scene.write(start(made))
            observations = await scene.hear(ActuationReported)
        assert (observations.reason, scene.patches()) == ("gone", 0)

    run_virtually(run())


def test_what_is_not_valid_yet_is_tried_again() -> None:
    async def run() -> None:
        scene = Scene()
        made = scene.make(JOBS, job())
        answers = [refusal(422), refusal(422), refusal(409), refusal(500), refusal(429)]

        async def refuse(method: str, _path: str) -> Response | None:
            return answers.pop() if method == "PATCH" and answers else None

        scene.api.before = refuse
        async with alongside(scene.actuator().run()):
            await scene.write(start(made))
            await eventually(lambda: not scene.job()["spec"]["suspend"])
        assert await scene.heard() == []

    run_virtually(run())


@pytest.mark.parametrize(
    ("status", "reason"),
    [(422, "invalid"), (409, "conflict"), (500, "unreachable"), (403, "forbidden")],
)
def test_what_stays_refused_is_reported_with_its_reason(status: int, reason: str) -> None:
    async def run() -> None:
        scene = Scene()
        made = scene.make(JOBS, job())

        async def refuse(method: str, _path: str) -> Response | None:
            return refusal(status, "because") if method == "PATCH" else None

        scene.api.before = refuse
        async with alongside(scene.actuator().run()):
            await scene.write(start(made))
            observations = await scene.hear(ActuationReported)
        assert observations.reason == reason
        assert "because" in observations.message
        assert scene.job()["spec"]["suspend"] is True

    run_virtually(run())


def test_a_server_that_is_away_for_a_while_is_waited_for() -> None:
    async def run() -> None:
        scene = Scene()
        made = scene.make(JOBS, job())
        scene.api.down = True
        async with alongside(scene.actuator().run()):
            await scene.write(start(made))
            await asyncio.sleep(20)
            scene.api.down = False
            await eventually(lambda: not scene.job()["spec"]["suspend"])
        assert await scene.heard() == []

    run_virtually(run())


def test_a_job_whose_retention_is_over_is_deleted_and_no_namesake() -> None:
    async def run() -> None:
        scene = Scene()
        made, kept = scene.make(JOBS, job()), scene.make(JOBS, job("kept"))
        old = msgspec.structs.replace(ref(kept), uid="another")
        async with alongside(scene.actuator().run()):
            await scene.write(
                WorkloadExpired(at_us=1, workload="default/a", job=ref(made)),
                WorkloadExpired(at_us=1, workload="default/b", job=old),
            )
            path = JOBS
            await eventually(lambda: len(scene.read(path)["items"]) == 1)
            await asyncio.sleep(60)
        assert scene.job("kept")["metadata"]["uid"] == kept["metadata"]["uid"]

    run_virtually(run())


def test_what_can_never_work_is_reported_even_if_the_bus_is_away_meanwhile() -> None:
    async def run() -> None:
        scene = Scene()
        made = scene.make(JOBS, job())
        scene.change(f"{JOBS}/train", {"spec": {"parallelism": 5}})
        await scene.write(start(made, generation=1))
        scene.bus.fate.chances["unreachable"] = 0.9
        async with alongside(scene.actuator().run()):
            await asyncio.sleep(300)
            scene.bus.fate.calm()
            observations = await scene.hear(ActuationReported)
        assert observations.reason == "stale"

    run_virtually(run())


def test_an_order_for_an_unknown_kind_is_reported() -> None:
    async def run() -> None:
        scene = Scene()
        made = scene.make(JOBS, job())
        unknown = msgspec.structs.replace(ref(made), kind="example.com/crunch")
        async with alongside(scene.actuator().run()):
            await scene.write(msgspec.structs.replace(start(made), job=unknown))
            observations = await scene.hear(ActuationReported)
        assert (observations.reason, observations.job.kind) == ("invalid", "example.com/crunch")

    run_virtually(run())

"""A placed job's status at home is its copy's, as the ledger has it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from actuator.events import Read, member_filter, unfiltered
from tests.actuator.scene import Scene, ref
from tests.parts.stage import JOBS, Object, alongside, eventually, job
from tests.parts.virtual import run_virtually
from tidegate.contracts.decisions import QuotaReserved
from tidegate.contracts.fact_kinds.clusters import CopyRemoved, CopyReported, EndShown
from tidegate.contracts.observations import JobState
from tidegate.kinds import names
from tidegate.kube.ports import Response
from tidegate.model.clusters import qualified
from tidegate.model.ids import ObjectRef

WEST = ObjectRef(kind="batch/job", namespace="default", name="train", uid="c@west", cluster="west")
RUNS, STARTED = JobState(suspended=False, active=1), "2026-01-01T00:00:00Z"
ENDED = (
    '{"conditions":[{"status":"True","type":"Complete"}],"startTime":"2026-01-01T00:00:00Z",'
    '"succeeded":1}'
)


class Home(Scene):
    """The cluster of a job that runs in west."""

    def __init__(self, cluster: str) -> None:
        super().__init__()
        self.cluster = cluster
        self.ref = ref(self.make(JOBS, job(managedBy=names.PLACED)))
        self.about: dict[str, Any] = {
            "at_us": 1,
            "workload": qualified("default/job-train", cluster),
            "uid": qualified(self.ref.uid, cluster),
        }

    def reported(self, status: str, copy: ObjectRef = WEST, finished: str = "") -> CopyReported:
        return CopyReported(**self.about, copy=copy, state=RUNS, status=status, finished=finished)

    def reported_of(self, name: str, status: str) -> CopyReported:
        """Make another job, and return what its copy reports."""
        made = ref(self.make(JOBS, job(name, managedBy=names.PLACED)))
        return replace(
            self.reported(status, replace(WEST, name=name, uid=f"c-{name}@west")),
            workload=qualified(f"default/job-{name}", self.cluster),
            uid=qualified(made.uid, self.cluster),
        )

    def removed(self, copy: ObjectRef = WEST) -> CopyRemoved:
        return CopyRemoved(**self.about, copy=copy)

    def reserved(self, cluster: str) -> QuotaReserved:
        return QuotaReserved(**self.about, cluster_queue="cq", assignment=(), cluster=cluster)

    def status(self, name: str = "train") -> Object:
        fields: Object = self.job(name).get("status") or {}
        return fields

    @property
    def as_read(self) -> Read:
        return member_filter(self.cluster) if self.cluster else unfiltered


@asynccontextmanager
async def home(cluster: str) -> AsyncGenerator[Home]:
    scene = Home(cluster)
    async with alongside(scene.actuator(as_read=scene.as_read).run()):
        yield scene


@pytest.mark.parametrize("cluster", ["", "east"])
def test_the_job_at_home_shows_what_its_copy_does_up_to_its_end(cluster: str) -> None:
    async def run() -> None:
        async with home(cluster) as scene:
            running = f'{{"active":1,"startTime":"{STARTED}"}}'
            await scene.write(scene.reserved("west"), scene.reported(running))
            await eventually(lambda: scene.status().get("active") == 1)
            await scene.write(scene.reported(ENDED, finished="Succeeded"), scene.removed())
            await eventually(lambda: scene.status().get("succeeded") == 1)
            assert "active" not in scene.status()
            await scene.write(scene.reserved("west"), scene.reported(running))
            await scene.write(scene.removed())
            await eventually(lambda: scene.status().get("succeeded") == 1)
            assert scene.status()["conditions"][0]["type"] == "Complete"

    run_virtually(run())


def test_a_copy_that_is_gone_before_its_end_runs_nothing() -> None:
    async def run() -> None:
        async with home("east") as scene:
            await scene.write(scene.reported(f'{{"active":1,"failed":2,"startTime":"{STARTED}"}}'))
            await eventually(lambda: scene.status().get("active") == 1)
            await scene.write(scene.removed(replace(WEST, uid="another@west")))
            await scene.write(scene.removed())
            await eventually(lambda: scene.status() == {"failed": 2})
            await scene.write(
                scene.reported('{"active":1,"failed":1}', replace(WEST, uid="d@west"))
            )
            await eventually(lambda: scene.status() == {"active": 1, "failed": 2})

    run_virtually(run())


def test_a_copy_where_the_job_has_no_quota_is_no_news() -> None:
    async def run() -> None:
        async with home("east") as scene:
            north = replace(WEST, uid="n@north", cluster="north")
            await scene.write(scene.reserved("west"), scene.reported('{"active":7}', north))
            await scene.write(scene.removed(north), scene.reported('{"active":1}'))
            await eventually(lambda: scene.status().get("active") == 1)
            writes = [path for method, path in scene.api.requests if method == "PATCH"]
            assert writes == [f"{JOBS}/train/status"]

    run_virtually(run())


def test_after_a_restart_only_what_differs_is_written() -> None:
    async def run() -> None:
        async with home("east") as scene:
            await scene.write(scene.reported('{"active":1}'))
            await eventually(lambda: scene.status().get("active") == 1)
        before = scene.patches()
        async with alongside(scene.actuator("a2", as_read=scene.as_read).run()):
            reads = len(scene.api.requests)
            await eventually(lambda: ("GET", f"{JOBS}/train") in scene.api.requests[reads:])
            assert scene.patches() == before
            scene.change(f"{JOBS}/train/status", {"status": {"active": 5}})
        async with alongside(scene.actuator("a3", as_read=scene.as_read).run()):
            await eventually(lambda: scene.status().get("active") == 1)

    run_virtually(run())


@pytest.mark.parametrize("cluster", ["", "east"])
def test_what_a_job_shows_no_longer_is_written_again(cluster: str) -> None:
    async def run() -> None:
        async with home(cluster) as scene:
            await scene.write(scene.reported('{"active":1}'))
            await eventually(lambda: scene.status().get("active") == 1)
            scene.change(f"{JOBS}/train/status", {"status": {"active": 5}})
            await scene.write(EndShown(**scene.about, reason=""))
            await eventually(lambda: scene.status().get("active") == 1)

    run_virtually(run())


@pytest.mark.parametrize("status", [["some"], {"succeeded": "many"}])
def test_a_status_at_home_that_makes_no_sense_keeps_no_other_job_from_its_own(
    status: object,
) -> None:
    served = list[str]()

    async def run() -> None:
        async with home("east") as scene:

            async def answers(method: str, path: str) -> Response | None:
                strange = msgspec.json.encode({**scene.job(), "status": status})
                if method != "GET" or not path.endswith("/train"):
                    return None
                served.append(path)
                return Response(200, strange)

            scene.api.before = answers
            other = scene.reported_of("other", '{"active":1}')
            await scene.write(scene.reported('{"succeeded":1}'), other)
            await eventually(lambda: scene.status("other").get("active") == 1)
            await eventually(lambda: bool(served))

    run_virtually(run())


def test_statuses_that_the_api_server_refuses_hold_no_other_up() -> None:
    refused = list[str]()

    async def run() -> None:
        async with home("east") as scene:

            async def refuses(method: str, path: str) -> Response | None:
                if method != "PATCH" or "bad" not in path:
                    return None
                refused.append(path)
                return Response(422, b"{}")

            scene.api.before = refuses
            bad = [scene.reported_of(f"bad-{number}", '{"active":1}') for number in range(20)]
            await scene.write(*bad, scene.reported('{"active":1}'))
            await eventually(lambda: scene.status().get("active") == 1, within_s=2)
            await eventually(lambda: bool(refused))

    run_virtually(run())


def test_what_is_marked_as_the_copy_of_another_s_job_keeps_no_end_from_that() -> None:
    async def run() -> None:
        async with home("east") as scene:
            marked = replace(WEST, name="other", uid="o@west")
            await scene.write(scene.reported('{"active":7}', marked, finished="Succeeded"))
            await scene.write(scene.reported(ENDED, finished="Succeeded"))
            await eventually(lambda: scene.status().get("succeeded") == 1)

    run_virtually(run())


@pytest.mark.parametrize("cluster", ["", "east"])
def test_copies_that_were_seen_before_their_jobs_are_distinguished(cluster: str) -> None:
    async def run() -> None:
        async with home(cluster) as scene:
            other = scene.reported_of("other", '{"active":2}')
            events = [scene.reported(ENDED, finished="Succeeded"), other]
            await scene.write(*(replace(each, workload="") for each in events))
            await eventually(lambda: scene.status().get("succeeded") == 1)
            await eventually(lambda: scene.status("other").get("active") == 2)

    run_virtually(run())


def test_a_namesake_of_another_uid_is_left_alone() -> None:
    async def run() -> None:
        async with home("east") as scene:
            scene.remove(f"{JOBS}/train")
            made = scene.make(JOBS, job(managedBy=names.PLACED))
            reads = len(scene.api.requests)
            await scene.write(scene.reported('{"active":1}'))
            await eventually(lambda: ("GET", f"{JOBS}/train") in scene.api.requests[reads:])
            assert scene.job() == made

    run_virtually(run())

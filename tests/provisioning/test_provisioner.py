"""The controller on an API server: what it makes, says and takes away, and what it outlives."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from http import HTTPStatus

from tests.parts.interposed import Interposed
from tests.parts.stage import CRDS, eventually
from tests.parts.virtual import run_virtually
from tests.provisioning.ground import REQUESTS, TEMPLATES, Ground, asked, attended
from tidegate.kube.ports import Response


def test_a_reservation_is_asked_for_with_the_templates_of_its_pods() -> None:
    async def run() -> None:
        async with asked() as ground:
            await eventually(lambda: "ProvisioningRequestCreated" in ground.event_reasons())
            request = ground.read(f"{REQUESTS}/w-c-1")
            template = ground.read(f"{TEMPLATES}/ppt-w-c-1-main")
        assert request["spec"] == {
            "provisioningClassName": "queued",
            "podSets": [{"podTemplateRef": {"name": "ppt-w-c-1-main"}, "count": 2}],
        }
        assert request["metadata"]["ownerReferences"][0]["name"] == "w"
        assert template["metadata"]["ownerReferences"][0]["uid"] == request["metadata"]["uid"]
        assert template["template"]["spec"]["nodeSelector"] == {"pool": "spot"}

    run_virtually(run())


def test_nodes_that_are_there_make_the_check_ready() -> None:
    async def run() -> None:
        async with asked() as ground:
            ground.answer("w-c-1", "Accepted", "Provisioned")
            await eventually(lambda: ground.state()["state"] == "Ready")
            await eventually(lambda: "AdmissionCheckUpdated" in ground.event_reasons())
            (update,) = ground.state()["podSetUpdates"]
        assert update["annotations"] == {
            "autoscaling.x-k8s.io/consume-provisioning-request": "w-c-1",
            "autoscaling.x-k8s.io/provisioning-class-name": "queued",
        }

    run_virtually(run())


def test_a_failure_is_retried_by_the_next_reservation_and_the_limit_rejects() -> None:
    async def run() -> None:
        async with asked() as ground:
            for attempt in (1, 2, 3):
                ground.answer(f"w-c-{attempt}", "Failed")
                await eventually(lambda: ground.state()["state"] == "Retry")
                assert ground.state()["requeueAfterSeconds"] == 60 * 2 ** (attempt - 1)
                ground.evict()
                await eventually(lambda: ground.requests() == [])
                ground.reserve(retryCount=attempt)
                await eventually(lambda: ground.requests() == [f"w-c-{attempt + 1}"])  # noqa: B023 - awaited
            ground.answer("w-c-4", "Failed")
            await eventually(lambda: ground.state()["state"] == "Rejected")
            assert ground.state()["message"] == "Failed it is"

    run_virtually(run())


def test_templates_go_with_their_request() -> None:
    async def run() -> None:
        async with asked() as ground:
            ground.evict()
            await eventually(lambda: ground.requests() == [])
            await eventually(lambda: ground.read(TEMPLATES)["items"] == [])

    run_virtually(run())


def test_a_request_of_a_lost_reservation_counts_for_no_other() -> None:
    async def run() -> None:
        async with asked() as ground:
            ground.answer("w-c-1", "Provisioned")
            await eventually(lambda: ground.state()["state"] == "Ready")
            old = ground.read(f"{REQUESTS}/w-c-1")["metadata"]["uid"]
            ground.evict()
            ground.reserve()  # before any reader could look

            def made_anew() -> bool:
                value = ground.read(REQUESTS)["items"]
                return bool(value) and value[0]["metadata"]["uid"] != old

            await eventually(made_anew)
            assert ground.state()["state"] == "Pending"

    run_virtually(run())


def test_a_check_is_active_while_its_kind_and_its_configuration_are_there() -> None:
    async def run() -> None:
        ground = Ground(served=False, configured=False)
        async with attended(ground):
            await eventually(lambda: ground.active() == ("False", "NotServed"))
            ground.serve()
            await eventually(lambda: ground.active() == ("False", "BadParametersRef"))
            ground.configure()
            await eventually(lambda: ground.active() == ("True", "Active"))
            ground.reserve()
            await eventually(lambda: ground.requests() == ["w-c-1"])
            ground.remove(f"{CRDS}/provisioningrequests.autoscaling.x-k8s.io")
            await eventually(lambda: ground.active() == ("False", "NotServed"))

    run_virtually(run())


class LateRequests(Interposed):
    """Shows requests late, and everything else at once."""

    @asynccontextmanager
    async def watch(
        self, path: str, query: Mapping[str, str]
    ) -> AsyncGenerator[AsyncIterator[bytes]]:
        async with self.api.watch(path, query) as lines:
            yield late(lines) if "provisioningrequests?" in f"{path}?" else lines


async def late(lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    async for line in lines:
        await asyncio.sleep(30)
        yield line


def test_a_late_watch_brings_no_second_request() -> None:
    async def run() -> None:
        ground = Ground()
        ground.api = LateRequests(ground.embedded)
        async with attended(ground):
            ground.reserve()
            await eventually(lambda: ground.requests() == ["w-c-1"])
            made = ground.read(f"{TEMPLATES}/ppt-w-c-1-main")["metadata"]["uid"]
            ground.reserve(message="look again")
            await eventually(lambda: ground.state()["message"] == "")
            await asyncio.sleep(60)
            assert ground.api.requests.count(("POST", REQUESTS)) == 1
            assert ground.read(f"{TEMPLATES}/ppt-w-c-1-main")["metadata"]["uid"] == made

    run_virtually(run())


def test_why_a_request_cannot_be_made_stands_on_the_check_until_it_can() -> None:
    async def refuse(method: str, path: str) -> Response | None:
        if (method, path) != ("POST", REQUESTS):
            return None
        return Response(HTTPStatus.FORBIDDEN, b'{"message": "quota of requests is used up"}')

    async def run() -> None:
        ground = Ground()
        ground.api.before = refuse
        async with attended(ground):
            ground.reserve()
            await eventually(lambda: "FailedCreate" in ground.event_reasons())
            text = 'Error creating ProvisioningRequest "w-c-1": '
            await eventually(lambda: str(ground.state()["message"]).startswith(text))
            ground.api.before = None
            await eventually(lambda: ground.requests() == ["w-c-1"])
            await eventually(lambda: ground.state()["message"] == "")
            assert ground.event_reasons().count("FailedCreate") == 1

    run_virtually(run())


def test_a_replica_that_lost_the_lease_does_nothing_and_goes_on_when_it_comes_back() -> None:
    async def run() -> None:
        ground = Ground()
        async with attended(ground) as provisioner:
            await eventually(lambda: ground.active() == ("True", "Active"))
            provisioner.set_active(False)
            ground.reserve()
            await asyncio.sleep(600)
            assert ground.requests() == []
            provisioner.set_active(True)
            await eventually(lambda: ground.requests() == ["w-c-1"])

    run_virtually(run())


def test_an_unreachable_server_is_asked_again() -> None:
    async def run() -> None:
        async with asked() as ground:
            ground.api.down = True
            ground.answer("w-c-1", "Provisioned")
            await asyncio.sleep(120)
            assert ground.state()["state"] == "Pending"
            ground.api.down = False
            await eventually(lambda: ground.state()["state"] == "Ready")

    run_virtually(run())

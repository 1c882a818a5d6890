"""An intruder with the bus's password publishes forged orders: no job starts by them."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

import msgspec
import nats
import pytest
from msgspec.structs import replace
from nats.js.api import RawStreamMsg

from tests.e2e.cast import eventually
from tests.e2e.ordeal import Ordeal, alone, ordeal
from tidegate.bus.headers import MESSAGE_ID
from tidegate.cluster.running import RunningServices
from tidegate.contracts import subjects
from tidegate.contracts.codec import decode, encode
from tidegate.contracts.decisions import StartOrdered
from tidegate.kube.ports import KubernetesApi
from tidegate.model.ids import ObjectRef

pytestmark = pytest.mark.real
EVENTS = "tidegate_local_events"


class Forger:
    """An intruder that reads EVENTS and writes to it as it likes."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.places = list[int]()

    async def order_start(self, job: ObjectRef) -> None:
        """Publish a start as the next entry of the ledger, after the newest one that was given."""
        client = await nats.connect(self._url)
        stream = client.jetstream()
        given = await stream.get_last_msg(EVENTS, "tidegate.local.event.StartOrdered.>")
        newest = await stream.get_last_msg(EVENTS, "tidegate.local.event.>")
        order = _copied(given, job)
        shown = {k: v for k, v in (newest.headers or {}).items() if not k.startswith("Nats-")}
        headers = {**shown, MESSAGE_ID: f"forged/{job.name}"}
        ledger_id, _, seq = headers["ce-id"].rpartition("/")
        headers["ce-id"] = f"{ledger_id}/{int(seq) + 1}"
        subject = subjects.event_subject("local", order)
        self.places.append((await stream.publish(subject, encode(order), headers=headers)).seq)
        await client.close()

    async def remove(self) -> None:
        """Delete what was forged, as the runbook says."""
        client = await nats.connect(self._url)
        for place in self.places:
            assert await client.jetstream().delete_msg(EVENTS, place)
        await client.close()


def _copied(given: RawStreamMsg, job: ObjectRef) -> StartOrdered:
    order = decode(given.data or b"")
    assert isinstance(order, StartOrdered)
    return replace(order, job=job, workload=f"{job.namespace}/job-{job.name}")


def has_logged(running: RunningServices, service: str, event: str) -> bool:
    lines = (running.logs / f"{service}.log").read_text().splitlines()
    return any(msgspec.json.decode(line)["event"] == event for line in lines if line[:1] == "{")


async def waiting_job(trial: Ordeal) -> ObjectRef:
    """Submit a Job larger than what is free, and return it once it waits."""
    (name,) = await trial.submit(1, seconds=1)
    path = f"{trial.namespace}/{name}"
    await eventually(lambda: path in trial.observer.jobs, "the Job is seen")
    meta = trial.observer.jobs[path]["metadata"]
    return ObjectRef(kind="batch/job", namespace=trial.namespace, name=name, uid=meta["uid"])


async def test_a_forged_start_is_seen_as_forged_and_starts_nothing(
    api: KubernetesApi, own_api: str, tmp_path: Path
) -> None:
    async with ordeal(api, alone(tmp_path, own_api), "forged") as trial:
        await trial.submit(4, seconds=8)
        await eventually(lambda: len(trial.running_now()) == 4, "the queue is full")
        forger = Forger(trial.running.nats_url)
        await forger.order_start(await waiting_job(trial))
        running = trial.running
        for service, event in (
            ("actuator", "forged event"),
            ("scheduler", "EVENTS holds forged events"),
        ):
            await eventually(partial(has_logged, running, service, event), event)
        with pytest.raises(AssertionError, match="forged"):
            await asyncio.to_thread(trial.verify)
        await trial.completed()
        await forger.remove()

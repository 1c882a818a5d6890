"""What a CronJob makes is queued, Job by Job; no service changes the CronJob itself."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.e2e.act import has_condition
from tests.e2e.cast import events_of, eventually, job_of, make_queues, tidegate, until
from tests.e2e.ordeal import alone
from tests.parts.foreign import pods_template
from tidegate.cluster.running import run_services
from tidegate.contracts.decisions import StartOrdered
from tidegate.kube.ports import KubernetesApi

pytestmark = pytest.mark.real
Object = dict[str, Any]
NAME = "nightly"
CRON_JOBS = f"/apis/batch/v1/namespaces/{NAME}/cronjobs"
JOBS = f"/apis/batch/v1/namespaces/{NAME}/jobs"
QUEUE = {"kueue.x-k8s.io/queue-name": NAME}


async def test_the_jobs_of_a_cronjob_wait_run_and_finish_and_it_is_left_alone(
    api: KubernetesApi, own_api: str, tmp_path: Path
) -> None:
    await make_queues(api, {NAME: "1"})
    cron = await create(api, CRON_JOBS, cron_job())
    await until(lambda: is_born_suspended(api, cron), "the policy about Jobs is in force")
    for name in ("first", "second"):
        made = await create(api, JOBS, context(cron, name))
        assert made["spec"]["suspend"] is True
    async with run_services(alone(tmp_path, own_api), print) as running:
        for name in ("first", "second"):
            await until(partial(is_complete, api, name), f"{name} finishes")
            assert (await job_of(api, NAME, name))["spec"]["suspend"] is False
        await eventually(lambda: started(running.ledger) == {"first", "second"}, "both started")
        after = await read(api, f"{CRON_JOBS}/{NAME}")
        assert after["spec"] == cron["spec"]
        assert untouched(after) == untouched(cron)
        tidegate("ledger", "verify", "--ledger", running.ledger, "--witness", running.nats_url)


def cron_job() -> Object:
    """Return a CronJob that is due on the 29th of February, in a queue like what it makes."""
    template = {"metadata": {"labels": QUEUE}, "spec": {"template": pods_template("1", 1)}}
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": NAME, "labels": QUEUE},
        "spec": {"schedule": "0 0 29 2 *", "jobTemplate": template},
    }


def context(cron: Object, name: str) -> Object:
    """Return the Job that ``kubectl create job --from=cronjob/nightly`` makes."""
    owner = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "name": cron["metadata"]["name"],
        "uid": cron["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    template = cron["spec"]["jobTemplate"]
    metadata = {
        "name": name,
        "labels": template["metadata"]["labels"],
        "annotations": {"cronjob.kubernetes.io/instantiate": "manual"},
        "ownerReferences": [owner],
    }
    return {"metadata": metadata, "spec": template["spec"]}


def untouched(cron: Object) -> Object:
    """Return what of a CronJob's metadata its own controller never changes."""
    metadata = cron["metadata"]
    return {
        part: metadata.get(part) for part in ("labels", "annotations", "finalizers", "generation")
    }


def started(ledger: str) -> set[str]:
    """Return the names of the Jobs that were told to start."""
    return {
        decision.job.name
        for decision in events_of(ledger, StartOrdered)
        if decision.job.namespace == NAME
    }


async def is_complete(api: KubernetesApi, name: str) -> bool:
    return has_condition(await job_of(api, NAME, name), "Complete")


async def is_born_suspended(api: KubernetesApi, cron: Object) -> bool:
    body = msgspec.json.encode(context(cron, "probe"))
    answer = await api.request("POST", JOBS, query={"dryRun": "All"}, body=body)
    return answer.status == 201 and msgspec.json.decode(answer.body)["spec"].get("suspend") is True


async def create(api: KubernetesApi, path: str, obj: Object) -> Object:
    answer = await api.request("POST", path, body=msgspec.json.encode(obj))
    assert answer.status == 201, answer.body
    made: Object = msgspec.json.decode(answer.body)
    return made


async def read(api: KubernetesApi, path: str) -> Object:
    document: Object = msgspec.json.decode((await api.request("GET", path)).body)
    return document

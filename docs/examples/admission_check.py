"""An admission check of one's own: jobs start only if their pods name a cost center.

    python docs/examples/admission_check.py --nats nats://127.0.0.1:4222 --check cost-center

It hears from Tidegate's events that quota was reserved, looks at the Workload, and reports through
the Workload's status, as every controller of an admission check does: ``Ready`` with an annotation
for the pods, or ``Rejected``. What it says may be asked of it again: each reservation begins anew.
"""

from __future__ import annotations

import argparse
import asyncio
import datetime as dt
import sys
from contextlib import suppress
from http import HTTPStatus
from typing import Any

import msgspec

from tidegate.kube.client import connect
from tidegate.kube.credentials import Access
from tidegate.kube.ports import MERGE_PATCH, KubernetesApi
from tidegate.subscribe import subscribe

CONTROLLER = "example.com/cost-center"
KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
LABEL, ANNOTATION = "cost-center", "example.com/charged-to"
PATIENCE_S, LOOK_S = 60.0, 0.2
Object = dict[str, Any]


def judge(workload: Object) -> Object:
    """Return the state of the check for a Workload; this function alone decides."""
    updates = list[Object]()
    for podset in workload["spec"]["podSets"]:
        labels = podset["template"].get("metadata", {}).get("labels", {})
        if LABEL not in labels:
            message = f"The pods of podset {podset['name']} have no label {LABEL}."
            return {"state": "Rejected", "message": message}
        updates.append({"name": podset["name"], "annotations": {ANNOTATION: labels[LABEL]}})
    return {"state": "Ready", "message": "All pods have a cost center.", "podSetUpdates": updates}


async def report(api: KubernetesApi, workload: str, check: str) -> None:
    """Wait until a Workload shows its reservation, and say what becomes of its check.

    One that shows none in time was removed, or lost its quota: a new reservation is reported again.
    """
    namespace, _, name = workload.partition("/")
    path = f"{KUEUE}/namespaces/{namespace}/workloads/{name}"
    with suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE_S):
            while not await reported(api, path, check):  # noqa: ASYNC110 - the server is asked
                await asyncio.sleep(LOOK_S)


async def reported(api: KubernetesApi, path: str, check: str) -> bool:
    """Say what becomes of a check if that is asked for now; tell whether all is said."""
    workload = await read(api, path)
    if workload is None or not reserved(workload):
        return False  # it is shown a moment after the event
    return not waits(workload, check) or await write(api, path, workload, check)


def waits(workload: Object, check: str) -> bool:
    """Return whether the check still has something to say, or will have."""
    states = {
        state["name"]: state["state"] for state in workload["status"].get("admissionChecks", ())
    }
    return bool(states.get(check, "Pending") == "Pending")


def reserved(workload: Object) -> bool:
    """Return whether a Workload holds quota, and is asked about its checks."""
    status = workload["status"]
    conditions = {
        condition["type"]: condition["status"] for condition in status.get("conditions", ())
    }
    return conditions.get("QuotaReserved") == "True" and bool(status.get("admissionChecks"))


async def write(api: KubernetesApi, path: str, workload: Object, check: str) -> bool:
    """Write the check's state, unless the Workload changed meanwhile; tell whether it stands."""
    state = {"name": check, "lastTransitionTime": now(), **judge(workload)}
    states = [
        state if current["name"] == check else current
        for current in workload["status"]["admissionChecks"]
    ]
    pinned = {"resourceVersion": workload["metadata"]["resourceVersion"]}
    body = msgspec.json.encode({"metadata": pinned, "status": {"admissionChecks": states}})
    answer = await api.request("PATCH", f"{path}/status", body=body, content_type=MERGE_PATCH)
    return answer.status == HTTPStatus.OK


async def activate(api: KubernetesApi, check: str) -> None:
    """Set Active of the AdmissionCheck to True: until then its ClusterQueues are inactive."""
    condition = {
        "type": "Active",
        "status": "True",
        "reason": "Active",
        "message": "The controller of the example runs.",
        "lastTransitionTime": now(),
    }
    body = msgspec.json.encode({"status": {"conditions": [condition]}})
    path = f"{KUEUE}/admissionchecks/{check}/status"
    answer = await api.request("PATCH", path, body=body, content_type=MERGE_PATCH)
    if answer.status != HTTPStatus.OK:
        sys.exit(f"cannot activate {check}: {answer.body.decode()}")


async def read(api: KubernetesApi, path: str) -> Object | None:
    """Return an object; None if there is none any more."""
    answer = await api.request("GET", path)
    if answer.status != HTTPStatus.OK:
        return None
    obj: Object = msgspec.json.decode(answer.body)
    return {"status": {}, **obj}


def now() -> str:
    """Return the time as Kubernetes writes it."""
    return dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


async def run(url: str, kubeconfig: str, check: str) -> None:
    """Attend to a check until the end."""
    async with connect(Access(kubeconfig=kubeconfig)) as api, asyncio.TaskGroup() as tasks:
        await activate(api, check)
        async for event in subscribe(url, since=1, types=["QuotaReserved"]):
            if check in getattr(event.event, "checks", ()):
                workload: str = getattr(event.event, "workload", "")
                tasks.create_task(report(api, workload, check))


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nats", default="nats://127.0.0.1:4222", help="the bus's URL")
    parser.add_argument("--kubeconfig", default="", help="path; empty: as kubectl finds it")
    parser.add_argument("--check", default="cost-center", help="the AdmissionCheck's name")
    options = parser.parse_args()
    asyncio.run(run(options.nats, options.kubeconfig, options.check))


if __name__ == "__main__":
    main()

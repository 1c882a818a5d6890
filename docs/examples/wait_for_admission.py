"""Submit a Job and wait until Tidegate admits it: `pip install 'tidegate[ingest]'`.

    KUBECONFIG=... python wait_for_admission.py nats://127.0.0.1:4222 team-a main

The arguments are the bus, the namespace and the LocalQueue.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import aclosing
from typing import Any

from kubernetes.aio import client, config

from tidegate.contracts.decisions import WorkloadAdmitted, WorkloadPending
from tidegate.contracts.facts import WorkloadSubmitted
from tidegate.subscribe import positions, subscribe

TYPES = ["WorkloadSubmitted", "WorkloadPending", "WorkloadAdmitted"]


async def main(url: str, namespace: str, queue: str) -> None:
    """Submit the Job, then tell what becomes of it until it is admitted."""
    # Asked first, so that nothing of the Job is missed, in whichever partition its queue is.
    since = {partition: seq + 1 for partition, seq in (await positions(url)).items()}
    uid = await submit(namespace, queue)
    workload = ""
    async with aclosing(subscribe(url, since=since, types=TYPES, namespace=namespace)) as events:
        async for event in events:
            match event.event:
                case WorkloadSubmitted(job=job) if job.uid == uid:
                    workload = event.event.workload
                    print(f"seq {event.seq}: submitted as {workload}")
                case WorkloadPending(workload=key, reason=reason) if key == workload:
                    print(f"seq {event.seq}: waits, {reason}")
                case WorkloadAdmitted(workload=key, cluster_queue=name) if key == workload:
                    print(f"seq {event.seq}: admitted to {name}")
                    return
                case _:
                    pass


async def submit(namespace: str, queue: str) -> str:
    """Create a Job in a LocalQueue and return its uid."""
    container = {
        "name": "main",
        "image": "busybox",
        "command": ["sleep", "5"],
        "resources": {"requests": {"cpu": "500m"}},
    }
    job: Any = {
        "metadata": {"generateName": "example-", "labels": {"kueue.x-k8s.io/queue-name": queue}},
        "spec": {
            "suspend": True,
            "template": {"spec": {"restartPolicy": "Never", "containers": [container]}},
        },
    }
    await config.load_kube_config()
    async with client.ApiClient() as api:
        created: Any = await client.BatchV1Api(api).create_namespaced_job(namespace, job)
    return str(created.metadata.uid)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))

"""The demo: two teams that lend to each other, one with its own quota, 60 Jobs, and the audit.

It drives ``tidegate up`` as a user would, in a folder of its own, and judges by the API server.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
from rich.console import Console
from rich.live import Live

from tidegate.cli.instance import Instance, is_running, read_instance
from tidegate.cli.live.board import LiveTable
from tidegate.cli.live.follow import LedgerFollower, open_follower
from tidegate.cluster.install import apply
from tidegate.cluster.processes import is_alive, spawn
from tidegate.errors import TidegateError
from tidegate.kube.client import connect
from tidegate.kube.credentials import Access
from tidegate.kube.ports import KubernetesApi
from tidegate.urls import redacted

Manifest: TypeAlias = dict[str, Any]

KUEUE = "kueue.x-k8s.io/v1beta2"
JOBS = 60
TEAMS = {"team-a": ("8", "shared"), "team-b": ("8", "shared"), "team-c": ("6", "")}
"""Namespace and ClusterQueue of each team: nominal CPU, and the cohort it lends to."""
PRIORITIES = {"low": 10, "normal": 100, "high": 1_000}
SIZES = ((1, "500m"), (2, "500m"), (1, "1"), (2, "1"), (3, "1"), (4, "1"))
"""Pods of a Job, and CPU of each."""
READY_S, DONE_S, POLL_S, LINE_S = 900.0, 240.0, 0.25, 3.0


def queue_manifests() -> Iterator[Manifest]:
    """Yield what an administrator applies: flavor, priority classes, and a queue a team."""
    yield {"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": {"name": "standard"}}
    for name, value in PRIORITIES.items():
        yield {
            "apiVersion": KUEUE,
            "kind": "WorkloadPriorityClass",
            "metadata": {"name": name},
            "value": value,
            "description": f"{name} priority of the demo",
        }
    for team, (cpu, cohort) in TEAMS.items():
        yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": team}}
        yield _cluster_queue(team, cpu, cohort)
        yield {
            "apiVersion": KUEUE,
            "kind": "LocalQueue",
            "metadata": {"name": "main", "namespace": team},
            "spec": {"clusterQueue": team},
        }


def job_manifests() -> Iterator[Manifest]:
    """Yield the Jobs in the order of their submission, mixed in size, priority and run time."""
    teams, priorities = list(TEAMS), list(PRIORITIES)
    for number in range(JOBS):
        # team-a submits most and early, so that it borrows; team-b comes later and reclaims.
        team = teams[0] if number % 5 in {0, 1} or number < JOBS // 6 else teams[1 + number % 2]
        pods, cpu = SIZES[(number * 7 + number // 6) % len(SIZES)]
        yield _job(f"job-{number:02d}", team, priorities[number * 5 % 7 % 3], pods, cpu)


def _cluster_queue(team: str, cpu: str, cohort: str) -> Manifest:
    quota = {"name": "cpu", "nominalQuota": cpu} | ({"borrowingLimit": "6"} if cohort else {})
    spec: Manifest = {
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": team}},
        "resourceGroups": [
            {
                "coveredResources": ["cpu"],
                "flavors": [{"name": "standard", "resources": [quota]}],
            }
        ],
        "preemption": {"withinClusterQueue": "LowerPriority"},
    }
    if cohort:
        spec["cohortName"] = cohort
        spec["preemption"]["reclaimWithinCohort"] = "Any"
    return {
        "apiVersion": KUEUE,
        "kind": "ClusterQueue",
        "metadata": {"name": team},
        "spec": spec,
    }


def _job(name: str, team: str, priority: str, pods: int, cpu: str) -> Manifest:
    seconds = 1 + sum(map(ord, name)) % 4
    labels = {"kueue.x-k8s.io/queue-name": "main", "kueue.x-k8s.io/priority-class": priority}
    container = {
        "name": "work",
        "image": "busybox:stable",
        "command": ["sleep", str(seconds)],
        "resources": {"requests": {"cpu": cpu}},
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": team, "labels": labels},
        "spec": {
            "parallelism": pods,
            "completions": pods,
            "backoffLimit": 0,
            "template": {
                "metadata": {"annotations": {"simulate/seconds": str(seconds)}},
                "spec": {"restartPolicy": "Never", "containers": [container]},
            },
        },
    }


class DemoError(TidegateError):
    """The demo did not get where it should; the message says where it stopped."""


def start_instance(on: str, folder: Path, console: Console) -> Instance:
    """Start ``tidegate up`` in the background and wait until it runs."""
    command = [sys.executable, "-P", "-m", "tidegate.cli.main", "up", "--on", on]
    process = spawn("tidegate up", command, folder / "up.log")
    length, began_s = 0, time.monotonic()
    while True:
        length = _print_log(folder / "up.log", length, console)
        instance = read_instance()
        if instance is not None and is_running(instance):
            return instance
        if not is_alive(process) or time.monotonic() - began_s > READY_S:
            _print_log(folder / "up.log", length, console)
            raise DemoError(f"`tidegate up` did not come up: its log is {folder / 'up.log'}.")
        time.sleep(POLL_S)


async def run_jobs(instance: Instance, console: Console) -> int:
    """Submit everything, show it until all Jobs are complete, and return how many are.

    Raises:
        TidegateError: the API server refused something or does not answer.
    """
    async with connect(Access(kubeconfig=instance.kubeconfig)) as api:
        await _apply_manifests(api, queue_manifests())
        console.print(f"applied 3 queues; submitting {JOBS} Jobs")
        submitting = asyncio.create_task(_apply_manifests(api, job_manifests()))
        with open_follower(instance.ledger) as follower:
            if console.is_terminal:
                await _show_live_until_done(api, follower, console)
            else:
                await _print_lines_until_done(api, follower, console)
        await submitting
        return await count_completed_jobs(api)


async def count_completed_jobs(api: KubernetesApi) -> int:
    """Return how many Jobs of the cluster have the condition Complete."""
    answer = await api.request("GET", "/apis/batch/v1/jobs")
    items = msgspec.json.decode(answer.body)["items"]
    return sum(
        any(
            condition["type"] == "Complete" and condition["status"] == "True"
            for condition in job.get("status", {}).get("conditions") or ()
        )
        for job in items
    )


def run_command(console: Console, *arguments: str) -> bool:
    """Run a command of tidegate's own, show it with its output, and tell whether it said yes."""
    console.print(f"\n[bold]$ tidegate {redacted(' '.join(arguments))}[/]")
    command = [sys.executable, "-P", "-m", "tidegate.cli.main", *arguments]
    wide = {**os.environ, "COLUMNS": str(console.width)}
    return subprocess.run(command, check=False, env=wide).returncode == 0  # noqa: S603 - our own


async def _apply_manifests(api: KubernetesApi, manifests: Iterable[Manifest]) -> None:
    paths: dict[str, str] = {}
    for manifest in manifests:
        await apply(api, manifest, paths)


async def _show_live_until_done(
    api: KubernetesApi, follower: LedgerFollower, console: Console
) -> None:
    board, deadline = LiveTable(), time.monotonic() + DONE_S
    with Live(console=console, refresh_per_second=8) as live:
        done = 0
        while done < JOBS and time.monotonic() < deadline:
            board.add_events(await asyncio.to_thread(follower.poll))
            live.update(board.render(follower.state))
            await asyncio.sleep(POLL_S)
            done = await count_completed_jobs(api)


async def _print_lines_until_done(
    api: KubernetesApi, follower: LedgerFollower, console: Console
) -> None:
    board, deadline, said_s = LiveTable(), time.monotonic() + DONE_S, 0.0
    done = 0
    while done < JOBS and time.monotonic() < deadline:
        board.add_events(await asyncio.to_thread(follower.poll))
        done = await count_completed_jobs(api)
        if time.monotonic() - said_s > LINE_S:
            said_s = time.monotonic()
            console.print(f"{done}/{JOBS} Jobs complete, ledger at seq {follower.state.seq}")
            console.print(board.render(follower.state))
        await asyncio.sleep(POLL_S)


def _print_log(log: Path, length: int, console: Console) -> int:
    text = log.read_text(errors="replace") if log.exists() else ""
    new = text[length:]
    if new:
        console.print(new, end="", markup=False, highlight=False, soft_wrap=True)
    return len(text)

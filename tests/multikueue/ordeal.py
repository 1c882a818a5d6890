"""A manager, two workers, and jobs and pods on which strikes whatever a seed says; then all heals.

Every service is real. What is cut, ended, deleted and edited comes from the seed, on a virtual
clock. ``python -m tests.multikueue.ordeals --seeds 20`` plays more than the tests do.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from random import Random

from msgspec.structs import replace

from tests.multikueue.sites import QUEUE, Site, until
from tests.multikueue.world import (
    GROUP,
    PODS,
    POLICY,
    SENT,
    WORKLOADS,
    Object,
    World,
    job,
    member,
)
from tests.parts.stage import JOBS, KUEUE, alongside
from tidegate.kinds.names import ELASTIC_JOB

ORIGIN = "kueue.x-k8s.io/multikueue-origin"
SERVICES = ("schedule", "ingest", "actuate", "dispatch")
LOST_S, BACK_S = 60, 120.0
"""How long a worker may be lost, and within what time one that is back has given back all."""
STRIKES, LOOK_S, HEALED_S = 10, 0.5, 3_600.0


class Ordeal:
    """One seed's world; made inside a running loop."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        sent = replace(
            SENT,
            worker_lost_us=LOST_S * 1_000_000,
            dispatcher=self.random.choice(("AllAtOnce", "Incremental")),
            step=1,
        )
        self.world = World(replace(POLICY, multikueue=sent), quotas=("2", "3"))
        self.jobs = {f"j{count}": self.random.randint(10, 150) for count in range(4)}
        odd = list(self.jobs) if seed % 2 else []
        self.groups = {name for name in odd if self.random.random() < 0.6}  # of two pods each
        even = [] if seed % 2 else list(self.jobs)
        self.elastic = {name for name in even if self.random.random() < 0.5}
        self.submitted, self.deleted = set[str](), set[str]()
        self.back_s = dict[str, float]()  # by worker: when it answered again
        self.script = list[str]()
        self._running = dict[str, asyncio.Task[None]]()
        self._later = set[asyncio.Task[None]]()

    async def run(self) -> None:
        """Let everything strike, heal it, and see all end."""
        async with AsyncExitStack() as stack:
            for site in self.world.workers.values():
                await stack.enter_async_context(alongside(site.run()))
            await stack.enter_async_context(alongside(self.world.manager.controller_manager.run()))
            await stack.enter_async_context(self._services())
            judging = asyncio.create_task(self._judge())
            try:
                for _ in range(STRIKES):
                    self._submit()
                    await asyncio.sleep(self.random.uniform(2, 40))
                    self._strike()
                await self._heal()
                assert not judging.done(), judging.exception()
            finally:
                judging.cancel()
                with suppress(asyncio.CancelledError, AssertionError):
                    await judging

    async def _heal(self) -> None:
        await asyncio.gather(*self._later)
        while len(self.submitted) < len(self.jobs):
            self._submit()
        for name, site in self.world.workers.items():
            site.stage.api.down = False
            self._set_policy(name, None)
        for workload in self.world.manager.items(WORKLOADS):
            path = f"{WORKLOADS}/{workload['metadata']['name']}"
            if not workload["spec"].get("active", True):
                self.world.manager.stage.change(path, {"spec": {"active": True}})
        await until(self._all_complete, "all jobs complete", HEALED_S)
        await until(self.world.is_clean, "nothing is left on the workers", HEALED_S)

    def _all_complete(self) -> bool:
        wanted = [name for name in self.jobs if name not in self.deleted]
        return all(self._is_complete(name) for name in wanted)

    def _is_complete(self, name: str) -> bool:
        if name not in self.groups:
            return is_complete(self.world.job(name))
        phases = [pod["status"].get("phase") for pod in self._pods(self.world.manager, name)]
        return phases == ["Succeeded", "Succeeded"]

    @staticmethod
    def _pods(site: Site, group: str) -> list[Object]:
        return [pod for pod in site.items(PODS) if pod["metadata"]["labels"].get(GROUP) == group]

    @asynccontextmanager
    async def _services(self) -> AsyncGenerator[None]:
        for name in SERVICES:
            self._begin(name)
        try:
            yield
        finally:
            for task in (*self._running.values(), *self._later):
                task.cancel()
            await asyncio.gather(*self._running.values(), *self._later, return_exceptions=True)

    def _begin(self, service: str) -> None:
        self._running[service] = asyncio.create_task(getattr(self.world.manager, service)())

    # what strikes

    def _submit(self) -> None:
        waiting = [name for name in self.jobs if name not in self.submitted]
        if waiting:
            self.submitted.add(waiting[0])
            self._make(waiting[0], self.jobs[waiting[0]])

    def _make(self, name: str, seconds: int) -> None:
        stage, notes = self.world.manager.stage, {"simulate/seconds": str(seconds)}
        if name not in self.groups:
            stage.make(
                JOBS, elastic_job(name, seconds) if name in self.elastic else job(name, seconds)
            )
        for pod in (f"{name}-a", f"{name}-b") if name in self.groups else ():
            stage.make(PODS, member(pod, name, **notes))

    def _strike(self) -> None:
        strikes = [self._cut, self._end, self._end, self._toggle, self._delete, self._erase]
        strikes += [self._hold, *([self._resize] * 4 if self.elastic else [])]
        strike: Callable[[], str] = self.random.choice(strikes)
        text = strike()
        self.script.append(f"{asyncio.get_running_loop().time():.0f} s {text}")

    def _after(self, seconds: float, act: Callable[[], None]) -> None:
        async def wait() -> None:
            await asyncio.sleep(seconds)
            act()

        self._later.add(asyncio.create_task(wait()))

    def _cut(self) -> str:
        """Let a worker not answer for a while."""
        name, site = self.random.choice(list(self.world.workers.items()))
        seconds = self.random.choice((3, 30, 2 * LOST_S))
        site.stage.api.down = True

        def back() -> None:
            site.stage.api.down = False
            self.back_s[name] = asyncio.get_running_loop().time()

        self._after(seconds, back)
        return f"{name} is away for {seconds} s"

    def _end(self) -> str:
        """Let a service of the manager end, and another begin after a while."""
        service, seconds = self.random.choice(SERVICES), self.random.uniform(0, 25)
        if self._running[service].cancelled():
            return f"{service} is down already"
        self._running[service].cancel()
        self._after(seconds, lambda: self._begin(service))
        return f"{service} ends for {seconds:.0f} s"

    def _toggle(self) -> str:
        """Deactivate a workload for a while."""
        workloads = self.world.manager.items(WORKLOADS)
        if not workloads:
            return "nothing"
        name = self.random.choice(workloads)["metadata"]["name"]

        def set_active(*, active: bool) -> None:
            if any(
                workload["metadata"]["name"] == name
                for workload in self.world.manager.items(WORKLOADS)
            ):
                body = {"spec": {"active": active}}
                self.world.manager.stage.change(f"{WORKLOADS}/{name}", body)

        set_active(active=False)
        self._after(self.random.uniform(1, 30), lambda: set_active(active=True))
        return f"{name} is inactive for a while"

    def _delete(self) -> str:
        """Delete a job."""
        here = [text for text in self.jobs if text in self.submitted and text not in self.deleted]
        if not here or len(self.deleted) > 1:
            return "nothing"
        name = self.random.choice(here)
        self.deleted.add(name)
        paths = [f"{PODS}/{name}-a", f"{PODS}/{name}-b"] if name in self.groups else []
        for path in paths or [f"{JOBS}/{name}"]:
            self.world.manager.stage.remove(path)
        return f"{name} is deleted"

    def _resize(self) -> str:
        """Let an elastic job ask for more pods or fewer."""
        here = sorted((self.elastic & self.submitted) - self.deleted)
        if not here:
            return "nothing"
        name, pods = self.random.choice(here), self.random.randint(1, 3)
        self.world.manager.stage.change(f"{JOBS}/{name}", {"spec": {"parallelism": pods}})
        return f"{name} asks for {pods} pods"

    def _erase(self) -> str:
        """Delete a copy or a job on a worker."""
        site = self.random.choice(list(self.world.workers.values()))
        path = self.random.choice((WORKLOADS, PODS if self.groups else JOBS))
        documents = site.items(path)
        if not documents:
            return "nothing"
        meta = self.random.choice(documents)["metadata"]
        if meta.get("finalizers"):
            site.stage.change(f"{path}/{meta['name']}", {"metadata": {"finalizers": []}})
        if any(obj["metadata"]["name"] == meta["name"] for obj in site.items(path)):
            site.stage.remove(f"{path}/{meta['name']}")
        return f"{meta['name']} is deleted on {site.name}"

    def _hold(self) -> str:
        """Let a worker's queue, or the manager, drain a worker for a while."""
        name, site = self.random.choice(list(self.world.workers.items()))
        seconds = self.random.uniform(5, 60)
        if self.random.random() < 0.5:
            self._set_policy(name, "HoldAndDrain")
            self._after(seconds, lambda: self._set_policy(name, None))
            return f"{name} is drained for {seconds:.0f} s"
        self._set_queue(site, "HoldAndDrain")
        self._after(seconds, lambda: self._set_queue(site, "None"))
        return f"the queue of {name} is drained for {seconds:.0f} s"

    def _set_policy(self, cluster: str, policy: str | None) -> None:
        note = {"metadata": {"annotations": {"tidegate.dev/stop-policy": policy}}}
        self.world.manager.stage.change(f"{KUEUE}/multikueueclusters/{cluster}", note)

    @staticmethod
    def _set_queue(site: Site, policy: str) -> None:
        site.stage.change(f"{KUEUE}/clusterqueues/{QUEUE}", {"spec": {"stopPolicy": policy}})

    # what must hold

    async def _judge(self) -> None:
        while True:
            for name in self.jobs:
                having = [
                    worker for worker in self.world.workers.values() if self._has(worker, name)
                ]
                assert len(having) <= 1, f"{name} is on several workers"
            for workload in self.world.manager.items(WORKLOADS):
                status = workload.get("status", {})
                both = status.get("clusterName") and status.get("nominatedClusterNames")
                assert not both, "a chosen cluster and nominations exclude each other"
            await asyncio.sleep(LOOK_S)

    def _has(self, site: Site, name: str) -> bool:
        """Tell whether a worker has a job, and has had the time to give it back."""
        back_s = self.back_s.get(site.name, -BACK_S)
        if site.stage.api.down or asyncio.get_running_loop().time() < back_s + BACK_S:
            return False
        if name in self.groups:
            return any(ORIGIN in pod["metadata"]["labels"] for pod in self._pods(site, name))
        return ORIGIN in self.world.job(name, site).get("metadata", {}).get("labels", {})


def elastic_job(name: str, seconds: int) -> Object:
    """Return a job that may grow up to three pods while it runs."""
    made = job(name, seconds)
    made["metadata"]["annotations"] = {ELASTIC_JOB: "true"}
    made["spec"] |= {"parallelism": 1, "completions": 3}
    return made


def is_complete(obj: Object) -> bool:
    """Tell whether a Job has its condition Complete."""
    current_conditions = obj.get("status", {}).get("conditions", [])
    return any(
        condition["type"] == "Complete" and condition["status"] == "True"
        for condition in current_conditions
    )

"""Jobs that come all the time; each must complete, and those that did are deleted after a while."""

from __future__ import annotations

import asyncio
import contextlib

from tests.chaos.ground import PROBE, QUOTAS, Ground
from tests.e2e.cast import remove, submit
from tidegate.errors import ApiStatusError, ApiUnreachableError

PER_S = 0.7
KEPT_S = 15.0
"""How long a Job that completed is left: a check may still look at it."""
RETRY_S = 0.3
POLL_S = 0.1


class Load:
    """Every Job that was submitted, and what became of it."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self.submitted = list[str]()  # "<namespace>/<name>"
        self.completed = dict[str, float]()  # to the loop's time at which it was seen
        self.failed = set[str]()
        self._started = set[str]()
        self._deleted = set[str]()
        self._over = asyncio.Event()

    @property
    def unfinished(self) -> list[str]:
        """Return the Jobs that did not complete yet."""
        return [name for name in self.submitted if name not in self.completed]

    async def run(self) -> None:
        """Submit Jobs until ``end`` is called; none is left half submitted."""
        random, namespaces = self._ground.random, [name for name in QUOTAS if name != PROBE]
        while not self._over.is_set():
            await self.submit(
                random.choice(namespaces),
                cpu=random.choice(["500m", "1", "2"]),
                seconds=random.choice([0.5, 1, 2]),
            )
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(random.expovariate(PER_S)):
                    await self._over.wait()

    def end(self) -> None:
        """Submit nothing more."""
        self._over.set()

    async def submit(self, namespace: str, *, cpu: str, seconds: float) -> str:
        """Create a Job, however often that takes, and return its name."""
        name = f"job-{len(self.submitted):05d}"
        self.submitted.append(f"{namespace}/{name}")
        while True:
            try:
                await submit(self._ground.api, namespace, name, cpu=cpu, seconds=seconds)
            except ApiUnreachableError:
                await asyncio.sleep(RETRY_S)
            except AssertionError as refused:  # an API server that starts; or it is there already
                if "AlreadyExists" in str(refused):
                    break
                await asyncio.sleep(RETRY_S)
            else:
                break
        return f"{namespace}/{name}"

    async def started(self, name: str) -> None:
        """Wait until a Job runs, or ran."""
        while name not in self._started:
            await asyncio.sleep(POLL_S / 2)

    async def tally(self) -> None:
        """Note what becomes of each Job, and delete what is done, until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            for name, job in list(self._ground.observer.jobs.items()):
                self._note(name, job.get("status", {}), loop.time())
            for name, since_s in list(self.completed.items()):
                if loop.time() - since_s > KEPT_S and name not in self._deleted:
                    await self._delete(name)
            await asyncio.sleep(POLL_S)

    def _note(self, name: str, status: dict[str, object], now_s: float) -> None:
        conditions = status.get("conditions", [])
        assert isinstance(conditions, list)
        true = {condition["type"] for condition in conditions if condition["status"] == "True"}
        if status.get("active") or "Complete" in true:
            self._started.add(name)
        if "Complete" in true:
            self.completed.setdefault(name, now_s)
        if "Failed" in true:
            self.failed.add(name)

    async def _delete(self, name: str) -> None:
        namespace, _, job = name.partition("/")
        with contextlib.suppress(ApiUnreachableError, ApiStatusError, AssertionError):
            await remove(self._ground.api, namespace, job)
            self._deleted.add(name)

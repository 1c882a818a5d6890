"""Child processes kept alive: started, restarted when they die, stopped in order.

The services are child processes of ``tidegate up``, not threads: a crash of one leaves the others
running, and the same programs run in a cluster.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

BACKOFF_FIRST_S, BACKOFF_MAX_S = 0.2, 10.0
STEADY_S = 30.0
"""A service that ran for so long starts with the shortest backoff again."""


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """One child: what to run, with what environment, and where its output goes."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    log: Path  # stdout and stderr, appended


class Supervisor:
    """Starts programs in order, restarts those that die, and stops them in reverse order."""

    def __init__(self, report: Callable[[str], None], *, patience_s: float = 25.0) -> None:
        self._tell, self._patience_s = report, patience_s
        self._processes: dict[str, asyncio.subprocess.Process] = {}
        self._restart_tasks: dict[str, asyncio.Task[None]] = {}
        self._stopping = False
        self.restarts: dict[str, int] = {}  # by program, how often it died and was started again

    async def start(self, program: Program) -> None:
        """Start one program and keep it alive from here on."""
        self.restarts[program.name] = 0
        self._processes[program.name] = await self._spawn(program)
        self._restart_tasks[program.name] = asyncio.create_task(self._restart_when_dead(program))

    def pid(self, name: str) -> int:
        """Return the process id that a program runs under now."""
        return self._processes[name].pid

    async def stop(self) -> None:
        """Stop everything, the last started first: SIGTERM, and SIGKILL without a drain."""
        self._stopping = True
        for name in reversed(list(self._processes)):
            self._restart_tasks[name].cancel()
            with suppress(asyncio.CancelledError):
                await self._restart_tasks[name]
            await self._stop_process(name, self._processes[name])

    async def _spawn(self, program: Program) -> asyncio.subprocess.Process:
        program.log.parent.mkdir(parents=True, exist_ok=True)
        with program.log.open("ab") as log:
            return await asyncio.create_subprocess_exec(
                *program.command,
                env=dict(program.environment),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for us: we stop them in order
            )

    async def _restart_when_dead(self, program: Program) -> None:
        loop, backoff_s = asyncio.get_running_loop(), BACKOFF_FIRST_S
        while not self._stopping:
            began_s = loop.time()
            code = await self._processes[program.name].wait()
            backoff_s = BACKOFF_FIRST_S if loop.time() - began_s > STEADY_S else backoff_s
            self._tell(
                f"{program.name} ended with {_exit_text(code)}; starting it again"
                f" in {backoff_s:.1f} s (its log: {program.log})"
            )
            await asyncio.sleep(backoff_s)
            backoff_s = min(2 * backoff_s, BACKOFF_MAX_S)
            self.restarts[program.name] += 1
            self._processes[program.name] = await self._spawn(program)

    async def _stop_process(self, name: str, process: asyncio.subprocess.Process) -> None:
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(self._patience_s):
                await process.wait()
        except TimeoutError:
            self._tell(f"{name} did not drain within {self._patience_s:.0f} s and was killed")
            process.kill()
            await process.wait()


def _exit_text(code: int) -> str:
    return f"exit code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"

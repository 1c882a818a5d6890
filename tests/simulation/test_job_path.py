"""The files that one Job goes through, in the order of their first use: docs/job-path.md.

A world without faults runs one Job from its creation to its end. What ``docs/job-path.md`` lists is
what was executed in between. ``REWRITE=1`` writes the list anew, for the diff to be read.
"""

from __future__ import annotations

import ast
import asyncio
import gc
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from tests.parts.virtual import run_virtually
from tests.simulation.actors.people import finished
from tests.simulation.cluster import job
from tests.simulation.shore import Shore

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "job-path.md"
LIST = re.compile(r"(<!-- path:[^\n]*-->\n)(.*?)(<!-- /path -->)", re.DOTALL)
ROOMS = ("tidegate", "ingest", "scheduler", "actuator", "store")
SIMULATED = "tidegate/cluster/"  # kubelet's and the Job controller's part, which the world plays
BEGIN = "files:"  # what stands before them: log lines
CALM_S = 40.0  # every service leads, every list is read


class OneJob(Shore):
    """One Job and nothing else; ``files`` is what ran between its creation and its end."""

    def __init__(self) -> None:
        super().__init__(1, death=0.0)
        self.files = dict[str, None]()

    async def people(self) -> None:
        await asyncio.sleep(CALM_S)
        with self.traced():
            made = job("train", pods=1, cpu_milli=800, seconds=5, priority="low")
            self.cluster.submit("team-a", made)
            while self.unrest():
                await asyncio.sleep(0.1)
            await asyncio.sleep(2)

    @contextmanager
    def traced(self) -> Iterator[None]:
        def called(frame: FrameType, event: str, _: object) -> None:
            if event == "call":
                self.files.setdefault(frame.f_code.co_filename)

        before = sys.getprofile()
        gc.collect()
        gc.disable()  # to close a generator that nothing names any more is a call, too
        sys.setprofile(called)
        try:
            yield
        finally:
            sys.setprofile(before)
            gc.enable()

    async def watch(self) -> None:
        await asyncio.Event().wait()

    def unrest(self) -> str:
        return (
            ""
            if all(finished(candidate_job) for candidate_job in self.cluster.jobs())
            else "a Job runs"
        )

    def mend(self) -> None:
        """Do nothing: nothing fails here."""


async def live() -> list[str]:
    world = OneJob()
    await world.run()
    inside = (Path(name) for name in world.files if Path(name).is_relative_to(ROOT))
    names = [path.relative_to(ROOT).as_posix() for path in inside]
    return [name for name in names if name.startswith(ROOMS) and not name.startswith(SIMULATED)]


def purpose(name: str) -> str:
    text = ast.get_docstring(ast.parse((ROOT / name).read_text())) or ""
    return text.partition("\n")[0].replace("|", "\\|")


def room(name: str) -> str:
    parts = name.split("/")
    return "/".join(parts[:2]) if parts[0] == "tidegate" else parts[0]


def page(names: Iterable[str]) -> str:
    listed = list(names)
    counts = Counter(map(room, listed))
    where = ", ".join(f"{count} in `{name}`" for name, count in counts.most_common())
    rows = "".join(f"| {n} | `{name}` | {purpose(name)} |\n" for n, name in enumerate(listed, 1))
    head = "| | file | what it is for |\n| --: | --- | --- |\n"
    return f"\n{len(listed)} files: {where}.\n\n{head}{rows}\n"


def files_of_a_job() -> list[str]:
    """Return them as a process of its own sees them: other tests leave caches that hide some."""
    command = [sys.executable, "-m", "tests.simulation.test_job_path"]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return answer.stdout.rpartition(BEGIN)[2].split()


def test_the_page_lists_the_files_of_one_job() -> None:
    listed = page(files_of_a_job())
    written = PAGE.read_text()
    if os.environ.get("REWRITE"):
        PAGE.write_text(LIST.sub(lambda parts: parts[1] + listed + parts[3], written))
        return
    parts = LIST.search(written)
    assert parts is not None
    assert parts[2] == listed, "a Job goes another way: make rewrite"


if __name__ == "__main__":
    sys.stdout.write("\n".join((BEGIN, *run_virtually(live()))))

"""What a command imports: modules are counted, since time differs between machines."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {"aiohttp", "alembic", "kubernetes", "nats", "pydantic", "rich", "sqlalchemy", "yaml"}
READING = (
    "events --tail 3",
    "why job/tune",
    "why-not job/huge",
    "show queues",
    "show tree",
    "show usage",
    "show workloads",
    "report queues",
    "ledger info",
    "ledger verify",
)
RUN = """
import atexit, sys
sys.argv = ["tidegate", *{words!r}]
atexit.register(lambda: print("MODULES", *sorted(sys.modules), file=sys.stderr))
from tidegate.cli.main import main
main()
"""


def imported(words: list[str], **variables: str) -> set[str]:
    asked = [sys.executable, "-c", RUN.format(words=words)]
    environment = {**os.environ, **variables}
    return set(
        subprocess.run(
            asked,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=True,
        )
        .stderr.rpartition("MODULES")[2]
        .split()
    )


@pytest.mark.parametrize("line", READING)
def test_a_command_that_reads_a_file_loads_no_library_that_it_does_without(
    sample: Path, line: str
) -> None:
    names = imported(line.split(), TIDEGATE_LEDGER=str(sample))
    assert HEAVY & names == set()
    assert len(names) <= 422


@pytest.mark.parametrize("line", ["ledger info", "report queues", "ledger keygen --help"])
def test_a_command_that_folds_nothing_loads_neither_rules_nor_folds(
    sample: Path, line: str
) -> None:
    names = imported(line.split(), TIDEGATE_LEDGER=str(sample))
    assert {"tidegate.core.decide", "tidegate.core.folding.fold"} & names == set()
    assert len(names) <= 271


def test_help_loads_no_command() -> None:
    names = imported(["--help"])
    assert [name for name in names if name.startswith("tidegate.cli.commands.")] == []
    assert len(names) <= 185


def test_a_completion_loads_no_library_at_all() -> None:
    asked = {"COMP_WORDS": "tidegate show qu", "COMP_CWORD": "2"}
    names = imported([], _TIDEGATE_COMPLETE="complete_bash", **asked)
    ours = {"completion", "completion.words", "main"}
    assert {"typer", "msgspec"} & names == set()
    assert {name for name in names if name.startswith("tidegate.cli.")} == {
        f"tidegate.cli.{name}" for name in ours
    }
    assert len(names) <= 120

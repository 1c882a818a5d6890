"""`tidegate demo`, `down` and a full disk: what a user reads at the end."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.cli.conftest import Tidegate
from tidegate.cli.commands.local.demo import commands_to_try
from tidegate.cli.instance import Instance

GO = Instance(ledger="sqlite:///ledger.db", kubeconfig="/state/demo/cluster/go/kubeconfig")


def test_a_demo_that_stays_up_names_its_own_kubeconfig() -> None:
    lines = list(commands_to_try(Path("/state/demo"), GO, in_path=True))
    assert "kubectl --kubeconfig /state/demo/cluster/go/kubeconfig get workloads -A" in lines
    assert lines[0] == "export TIDEGATE_STATE=/state/demo"


def test_a_demo_says_where_the_command_is_if_a_shell_does_not_find_it() -> None:
    first, *others = commands_to_try(Path("/state/demo"), GO, in_path=False)
    assert first == f"export PATH={Path(sys.executable).parent}:$PATH"
    assert others == list(commands_to_try(Path("/state/demo"), GO, in_path=True))


def test_down_says_that_nothing_was_up(tidegate: Tidegate) -> None:
    assert tidegate("down").stdout == "nothing was up\n"


def test_a_full_disk_is_an_error_and_no_traceback(sample: Path) -> None:
    command = [sys.executable, "-m", "tidegate.cli.main", "show", "queues", "--ledger", str(sample)]
    with Path("/dev/full").open("wb") as full:
        result = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False)
    assert result.returncode != 0
    assert result.stderr.startswith(b"error: No space left on device.\n")
    assert b"Traceback" not in result.stderr

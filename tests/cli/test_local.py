"""`tidegate demo`, `down` and a full disk: what a user reads at the end."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.cli.conftest import Tidegate
from tidegate.cli.commands.local import up
from tidegate.cli.commands.local.demo import commands_to_try
from tidegate.cli.instance import Instance
from tidegate.cluster.local import Cluster

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


def test_a_ledger_that_cannot_be_used_is_said_before_anything_is_started(
    tidegate: Tidegate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = list[str]()
    monkeypatch.setattr(up, "prepare_cluster", lambda *_, **__: started.append("cluster"))
    (tmp_path / "text.db").write_text("no database" * 100)
    result = tidegate("up", "--ledger", str(tmp_path / "text.db"))
    assert (result.exit_code, started) == (3, [])
    assert "does not answer: file is not a database" in result.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_up_while_its_services_start(
    tidegate: Tidegate, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    stopped = list[str]()

    @asynccontextmanager
    async def never_ready(*_: object) -> AsyncGenerator[None]:
        try:
            async with asyncio.timeout(10):
                os.kill(os.getpid(), number)
                await asyncio.Event().wait()
            yield
        finally:
            stopped.append("services")

    cluster = Cluster(form="embedded", kubeconfig="")
    monkeypatch.setattr(up, "prepare_cluster", lambda *_, **__: cluster)
    monkeypatch.setattr(up, "run_services", never_ready)
    result = tidegate("up", "--shadow")
    assert (result.exit_code, stopped) == (1, ["services"])
    assert "ended before the services were ready" in result.stdout


def test_an_instance_file_that_is_none_is_to_be_removed(tidegate: Tidegate) -> None:
    file = Path(os.environ["TIDEGATE_STATE"]) / "instance.json"
    file.parent.mkdir()
    file.write_text("garbage")
    assert tidegate("down").stderr.endswith(" invalid character (byte 0). Remove it.\n")

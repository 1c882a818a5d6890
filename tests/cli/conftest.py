"""The sample ledger, and the command line run on it in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest
from typer.testing import CliRunner, Result

from tests.parts.newer import newer
from tests.parts.postgresql import Server
from tests.parts.sample import TURNS, filled
from tidegate.cli.program import build_app

__all__ = ["newer"]
Tidegate: TypeAlias = Callable[..., Result]
SHELLS = {"foreground": (), "background": ("sh", "-c", 'trap "" INT; exec "$@"', "sh")}
"""How a shell starts a command: one in the background is to ignore SIGINT."""


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The ledger that ``tidegate ledger sample`` writes."""
    file = tmp_path_factory.mktemp("sample") / "sample.db"
    result = CliRunner().invoke(build_app(), ["ledger", "sample", str(file)])
    assert result.exit_code == 0, result.output
    return file


@pytest.fixture(scope="session")
def remote(postgresql: Server) -> Iterator[str]:
    """The sample's ledger on PostgreSQL."""
    url = postgresql.new_database()
    with filled(url, TURNS):
        pass
    yield url
    postgresql.drop(url)


@pytest.fixture
def tidegate(sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tidegate:
    """Run a command line; without ``--ledger`` on the sample."""
    monkeypatch.setenv("TIDEGATE_LEDGER", str(sample))
    monkeypatch.setenv("TIDEGATE_STATE", str(tmp_path / "state"))

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(build_app(), list(arguments))

    return run

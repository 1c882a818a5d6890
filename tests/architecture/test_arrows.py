"""Who may import whom, and what each service's installation lacks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_the_import_contracts_hold() -> None:
    done = subprocess.run(
        [Path(sys.executable).parent / "lint-imports", "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("service", "absent"),
    [
        ("ingest.__main__", ("sqlalchemy", "alembic", "typer")),
        ("actuator.__main__", ("sqlalchemy", "alembic", "typer")),
        ("scheduler.__main__", ("kubernetes", "typer")),
    ],
)
def test_a_service_imports_nothing_that_its_image_lacks(
    service: str, absent: tuple[str, ...]
) -> None:
    code = (
        f"import sys, importlib; importlib.import_module({service!r});"
        f"print([name for name in {absent!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.stdout.strip(), done.stderr) == ("[]", "")

"""Look for the seed or the test that finds a bug, in a process that has the bug in its code."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from typing import NamedTuple

import pytest

from tests.simulation.bugs.patches import Bug, tree_with


class Found(NamedTuple):
    """A seed whose world does not hold with the bug in it."""

    seed: int
    rule: str
    why: str


def hunt(bug: Bug, seeds: Sequence[int]) -> Found | None:
    """Put a bug in, live through one world after another, and return the first that shows it.

    Raises:
        subprocess.CalledProcessError: the patch does not fit, or the code does not start with it.
    """
    command = [sys.executable, "-m", "tests.simulation", "--find", *map(str, seeds)]
    with tree_with(bug) as tree:
        stdout = subprocess.run(
            command, cwd=tree, check=True, capture_output=True, text=True
        ).stdout
    if not stdout.strip():
        return None
    seed, rule, why = stdout.splitlines()[-1].split(" ", 2)
    return Found(int(seed), rule, why)


def found_by_test(bug: Bug) -> bool:
    """Put a bug in and run the test that is known to find it; return whether it fails.

    Raises:
        subprocess.CalledProcessError: the patch does not fit, or the test could not be run.
    """
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", bug.test]
    with tree_with(bug) as tree:
        run = subprocess.run(command, cwd=tree, check=False, capture_output=True, text=True)
    if run.returncode > pytest.ExitCode.TESTS_FAILED:
        raise subprocess.CalledProcessError(run.returncode, command, run.stdout, run.stderr)
    return run.returncode == pytest.ExitCode.TESTS_FAILED

"""``python -m tests.simulation``: what ends a run, and with which answer."""

from __future__ import annotations

import sys

import pytest

from tests.simulation import __main__ as command
from tests.simulation.judging.judge import Outcome
from tests.simulation.judging.verdict import OBJECTIONS


@pytest.fixture(autouse=True)
def _no_objections() -> None:
    OBJECTIONS.clear()


def test_a_world_that_goes_round_in_circles_does_not_hold(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def circles(_seed: int) -> Outcome:
        while True:
            try:
                sum(range(1_000))
            except Exception:  # noqa: BLE001 - a service that catches everything once
                break
        while True:
            sum(range(1_000))

    monkeypatch.setattr(command, "judge", circles)
    monkeypatch.setattr(command, "SEED_S_MAX", 0.05)
    monkeypatch.setattr(command, "AGAIN_S", 0.05)
    monkeypatch.setattr(sys, "argv", ["simulation", "--first", "7", "--seeds", "1"])
    assert command.main() == 1
    printed = capsys.readouterr()
    assert "seed 7 does not hold" in printed.out
    assert "the world goes round in circles" in printed.err
    OBJECTIONS.clear()

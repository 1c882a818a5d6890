"""What takes long says so on standard error; what is quick says nothing."""

from __future__ import annotations

import time

import pytest

from tidegate.cli import progress


def test_a_wait_is_announced_once_it_is_long(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "PATIENCE_S", 0.0)
    text, end = "", time.monotonic() + 10
    with progress.announce_wait("Waiting for it."):
        while not text and time.monotonic() < end:
            text += capsys.readouterr().err
    assert text == "Waiting for it.\n"


def test_a_short_wait_is_not_announced(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.announce_wait("Waiting for it."):
        pass
    assert capsys.readouterr().err == ""

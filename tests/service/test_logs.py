"""What is logged of a failure says where it was, and nothing of what variables held."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Literal

import pytest
import structlog

from tidegate.service.logs import configure_logs, get_log

HELD = "eyJhbGciOi"


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()
    structlog.contextvars.clear_contextvars()


def fail(token: str) -> None:
    if token:
        raise ConnectionError("refused")


@pytest.mark.parametrize("form", ["console", "json"])
def test_a_traceback_shows_the_place_and_no_variable(
    form: Literal["console", "json"], capsys: pytest.CaptureFixture[str]
) -> None:
    configure_logs("test", form)
    try:
        fail("".join(HELD))
    except ConnectionError:
        get_log("part").exception("cannot reach it")
    err = capsys.readouterr().err
    assert "ConnectionError: refused" in err
    assert "in fail" in err
    assert HELD not in err


def test_what_a_dependency_logs_shows_no_variable_either(
    capsys: pytest.CaptureFixture[str],
) -> None:
    configure_logs("test", "console")
    try:
        fail("".join(HELD))
    except ConnectionError:
        logging.getLogger("kubernetes").exception("watch broke")
    err = capsys.readouterr().err
    assert "ConnectionError: refused" in err
    assert HELD not in err

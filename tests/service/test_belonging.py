"""A start waits for a bus that is between two leaders, and no longer than a minute."""

from __future__ import annotations

import asyncio

import pytest

from tests.parts.virtual import run_virtually
from tidegate.errors import BusUnreachableError
from tidegate.service.bus_ownership import PATIENCE_S, retry_until_answered


class Bus:
    """Answers from a time on."""

    def __init__(self, from_s: float) -> None:
        self._from_s = from_s

    async def ask(self) -> str:
        if asyncio.get_running_loop().time() < self._from_s:
            raise BusUnreachableError("no answer")
        return "here"


def test_it_asks_until_the_bus_answers() -> None:
    assert run_virtually(retry_until_answered(Bus(PATIENCE_S / 2).ask)) == "here"


def test_it_gives_up_after_a_while() -> None:
    with pytest.raises(BusUnreachableError):
        run_virtually(retry_until_answered(Bus(10 * PATIENCE_S).ask))

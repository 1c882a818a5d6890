"""What a port of the world loses is what it says that it loses."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from tests.simulation.faults.life import Life
from tests.simulation.faults.ports import LivingInbox
from tests.simulation.faults.weather import Weather
from tests.simulation.loop import run_seeded
from tidegate.contracts.entry import Message, Position


class _Inbox:
    """Has ten messages, and hands on those that a reader asks for."""

    async def start_position(self) -> Position:
        return Position()

    async def pull(self, after: Position, *, count_max: int, wait_s: float) -> Sequence[Message]:
        del wait_s
        seqs = range(after.seq + 1, min(after.seq + count_max, 10) + 1)
        return [Message(Position(1, seq), 0, "subject", b"", "") for seq in seqs]

    async def purge_through(self, position: Position) -> None:
        raise AssertionError(position)

    async def request_resync(self, reason: str) -> None:
        raise AssertionError(reason)


def test_what_is_repeated_after_a_step_back_skips_nothing() -> None:
    seqs = run_seeded(_read_on_and_again())
    assert seqs[0] in (1, 2), "what came before may come again"
    assert seqs[-1] == 2, "nothing that lies ahead comes before its turn"
    assert len(seqs) > 1, "something is repeated"


async def _read_on_and_again() -> list[int]:
    reader = LivingInbox(
        _Inbox(), Life("reader", Random(0), Weather({"repeat": 1.0})), lambda: None
    )
    await reader.pull(Position(1, 0), count_max=10, wait_s=1)
    messages = await reader.pull(Position(1, 1), count_max=1, wait_s=1)
    return [message.at.seq for message in messages]

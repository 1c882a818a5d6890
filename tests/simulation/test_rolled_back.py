"""What a nats-server of the world loses with a power cut."""

from __future__ import annotations

from random import Random

import pytest

from tests.parts.nats.stream import Incoming
from tests.parts.virtual import run_virtually
from tests.simulation.bus import NAMES, Bus


@pytest.mark.parametrize(("keeps", "left"), [(False, 1), (True, 3)])
def test_events_are_kept_while_they_alone_show_what_a_ledger_has_lost(
    keeps: bool,  # noqa: FBT001 - an example
    left: int,
) -> None:
    async def story() -> None:
        bus = Bus()
        nats = bus.connect(Random(0))
        await nats.ensure_streams(bus.streams)
        for stream in bus.server.streams.values():
            for _ in range(3):
                stream.store(Incoming("subject", b"", {}))
        bus.keeps_events = keeps
        bus.crash(lost=2)
        held = {name: stream.count for name, stream in bus.server.streams.items()}
        assert (held[NAMES.events], held[NAMES.observations]) == (left, 1)

    run_virtually(story())

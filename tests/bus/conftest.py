"""Runs every test of this folder once per form of the bus."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.bus.worlds import MemoryWorld, World, nats_world, simulated_world


@pytest.fixture(params=["memory", "simulated", "nats"])
async def world(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[World, None]:
    if request.param == "memory":
        yield MemoryWorld()
        return
    async with (
        simulated_world()
        if request.param == "simulated"
        else nats_world(tmp_path) as actual_nats_world
    ):
        yield actual_nats_world

"""Requests of an actuator that is not the active one any more."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry

from actuator.calls import Calls
from actuator.metrics import Metrics
from tests.actuator.story import Story
from tests.parts.virtual import run_virtually
from tidegate.errors import ApiUnreachableError


def test_a_standby_reads_and_changes_nothing() -> None:
    async def run() -> None:
        story, active = Story(), True
        calls = Calls(story.api, Metrics(CollectorRegistry()))
        held = calls.gated_by(lambda: active)
        path = "/api/v1/namespaces/default"
        before = await held.patch(path, {"metadata": {"labels": {"by": "active"}}})
        active = False
        with pytest.raises(ApiUnreachableError, match="active one"):
            await held.patch(path, {"metadata": {"labels": {"by": "predecessor"}}})
        assert await held.read(path) == before

    run_virtually(run())

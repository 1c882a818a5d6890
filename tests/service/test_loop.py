"""Which event loop a service runs on, and its garbage collection."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import closing

import pytest
import uvloop

from tidegate.service.loop import COLLECTIONS, loop_factory, tune_garbage_collection


@pytest.fixture
def collector() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*before)


def test_a_service_runs_on_uvloop_where_it_is_installed() -> None:
    made = loop_factory({})
    assert made is not None
    with closing(made()) as loop:
        assert isinstance(loop, uvloop.Loop)


def test_asyncios_own_loop_can_be_chosen() -> None:
    assert loop_factory({"TIDEGATE_LOOP": "asyncio"}) is None


@pytest.mark.usefixtures("collector")
def test_what_was_imported_is_left_out_of_collections() -> None:
    tune_garbage_collection()
    assert gc.get_threshold() == COLLECTIONS
    assert gc.get_freeze_count() > 0

"""For every test: PostgreSQL, collection without garbage collection, and which worker runs it."""

from __future__ import annotations

import gc
from collections.abc import Generator
from typing import TYPE_CHECKING

import pytest

from tests.parts.postgresql import postgresql

if TYPE_CHECKING:
    from xdist.remote import Producer

    from tests.parts.spreading import ByPlane

__all__ = ["postgresql"]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect thousands of tests without looking for garbage among them again and again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> ByPlane | None:
    """Send the files of a package that shares a control plane to one worker."""
    if config.getoption("dist") != "loadfile":
        return None
    from tests.parts.spreading import ByPlane  # noqa: PLC0415 - the plugin is there

    return ByPlane(config, log)

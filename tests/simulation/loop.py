"""A virtual event loop whose every order is the seed's: time, tasks, and sets of tasks.

``asyncio`` keeps tasks in sets and cancels them in a set's order, which is that of addresses in
memory. Here a task's hash is its number, so that one seed gives one order in every process.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Generator
from contextvars import Context
from itertools import count
from typing import Any, TypeVar

from tests.parts.virtual import VirtualLoop

T = TypeVar("T")


class NumberedTask(asyncio.Task[T]):
    """A task whose place in a set does not depend on its address."""

    number = 0

    def __hash__(self) -> int:
        return self.number


class SeededLoop(VirtualLoop):
    """A virtual loop with numbered tasks and no threads."""

    def __init__(self) -> None:
        super().__init__(deaf=True)
        numbers = count(1)

        def make(
            loop: asyncio.AbstractEventLoop,
            work: Coroutine[Any, Any, T] | Generator[Any, None, T],
            context: Context | None = None,
        ) -> NumberedTask[T]:
            task = NumberedTask(work, loop=loop, context=context)
            task.number = next(numbers)
            return task

        self.set_task_factory(make)

    def run_in_executor(self, *_: object) -> Any:  # noqa: ANN401 - never returns
        raise AssertionError("a thread has no place in a seeded world")


def run_seeded(work: Coroutine[Any, Any, T]) -> T:
    """Run ``work`` to its end on a loop of its own, and end whatever it left behind."""
    with asyncio.Runner(loop_factory=SeededLoop) as runner:
        return runner.run(work)

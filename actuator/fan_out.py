"""Several subscribers of the ledger's events as one subscriber."""

from __future__ import annotations

import asyncio

from actuator.ordering.consume import Subscriber
from tidegate.contracts.decisions import DecisionEvent
from tidegate.contracts.entry import Published
from tidegate.contracts.facts import FactEvent


class FanOut:
    """See ``ordering.consume.Subscriber``: calls each in the order given; none may be given."""

    def __init__(self, *learners: Subscriber) -> None:
        self._learners = learners

    def learn(self, message: Published, event: FactEvent | DecisionEvent, *, live: bool) -> None:
        """See ``Subscriber.learn``."""
        failed = list[Exception]()
        for subscriber in self._learners:
            try:
                subscriber.learn(message, event, live=live)
            except Exception as error:  # noqa: BLE001 - the others learn it
                failed.append(error)
        if failed:
            raise failed[0]

    def carried_out(self, workload: str) -> None:
        """See ``Subscriber.carried_out``."""
        for subscriber in self._learners:
            subscriber.carried_out(workload)

    def begin_anew(self) -> None:
        """See ``Subscriber.begin_anew``."""
        for subscriber in self._learners:
            subscriber.begin_anew()

    def work(self, working: bool) -> None:  # noqa: FBT001 - see the protocol
        """See ``Subscriber.work``."""
        for subscriber in self._learners:
            subscriber.work(working)

    async def run(self) -> None:
        """Act for ever, each for itself."""
        async with asyncio.TaskGroup() as tasks:
            for subscriber in self._learners:
                tasks.create_task(subscriber.run())

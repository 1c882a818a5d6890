"""Of two installations on one cluster, one acts: see ``tidegate.kube.ownership``."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from tidegate.errors import ApiStatusError, ApiUnreachableError
from tidegate.kube.ownership import Ownership
from tidegate.service.logs import get_log

RETRY_S = 1.0
_log = get_log("installation")


class Installation:
    """Whether this installation decides for its cluster."""

    def __init__(self) -> None:
        self.lacks = "it is not known yet which installation decides for this cluster"
        """Why it does not act; empty: it does."""

    async def run_while_owner(
        self, ownership: Ownership, work: Callable[[], Awaitable[None]]
    ) -> None:
        """Do the work for as long as the cluster is ours.

        Raises:
            OwnedError: another installation decides for it.
        """
        await self._acquire(ownership)
        self.lacks = ""
        tasks = [asyncio.ensure_future(task) for task in (ownership.renew_forever(), work())]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await ownership.release()

    async def _acquire(self, ownership: Ownership) -> None:
        while True:
            try:
                await ownership.acquire()
            except (ApiUnreachableError, ApiStatusError) as error:
                self.lacks = f"the Lease of this cluster cannot be had: {error}"
                _log.warning(
                    "cannot read which installation decides for this cluster", why=str(error)
                )
                await asyncio.sleep(RETRY_S)
            else:
                return

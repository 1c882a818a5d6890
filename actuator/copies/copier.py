"""Create or delete the copy of a placed job in this cluster; in doubt no copy is created.

A copy is made suspended: only a start, pinned to its uid, makes it run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from random import Random

from actuator.calls import Calls, is_temporary
from actuator.metrics import Metrics
from actuator.ordering.orders import CopyOrder, MakeCopy, RemoveCopy
from actuator.ordering.reports import Reporter
from tidegate.bus.ports import BodyReader
from tidegate.contracts.decision_kinds.copies import CopyOrdered
from tidegate.errors import (
    ApiStatusError,
    ApiUnreachableError,
    BusUnreachableError,
    UndecodableError,
)
from tidegate.jobs.kind import Done, Object, Refusal, Refused
from tidegate.jobs.placed.body import digest_of
from tidegate.jobs.placed.copy import Identity, copy_of
from tidegate.jobs.registry import JOB_KINDS
from tidegate.kinds import names
from tidegate.model.clusters import PLACEABLE, cluster_of
from tidegate.model.texts import is_name
from tidegate.service.backoff import backoff_delays
from tidegate.service.logs import get_log

BUSY_S = 30.0
"""How long an API server or a bus may not answer before that is reported."""
_REASONS: dict[int, Refusal] = {
    HTTPStatus.FORBIDDEN: "forbidden",
    HTTPStatus.UNAUTHORIZED: "forbidden",
    HTTPStatus.NOT_FOUND: "gone",
}
_log = get_log("copies")


@dataclass(frozen=True, slots=True)
class Copier:
    """Makes and removes copies on one API server."""

    calls: Calls
    bodies: BodyReader
    reporter: Reporter
    random: Random
    metrics: Metrics
    hub: str = ""  # the ledger's own cluster, whose jobs' uids name none
    busy_s: float = field(default=BUSY_S)

    async def carry_out(self, order: CopyOrder, superseded: Callable[[], bool]) -> None:
        """Make or remove the copy, or report why that cannot be, or give way."""
        loop = asyncio.get_running_loop()
        until, waits = (
            loop.time() + self.busy_s,
            backoff_delays(self.random, first_s=0.05, most_s=2.0),
        )
        while not superseded():
            try:
                step = await self._attempt(order)
            except (ApiUnreachableError, BusUnreachableError, ApiStatusError) as error:
                if _is_transient(error) and loop.time() < until:
                    await asyncio.sleep(next(waits))
                    continue
                step = Refused(reason=_refusal_reason(error), message=str(error))
            if isinstance(step, Refused):
                await self.reporter.report_failure(order, step.reason, step.message)
            else:
                self.metrics.orders.labels(type(order).__name__, "done").inc()
            return
        self.metrics.orders.labels(type(order).__name__, "superseded").inc()

    async def _attempt(self, order: CopyOrder) -> Done | Refused:
        copy = order.order.copy
        if copy.kind not in PLACEABLE:
            message = f"No copy of a job of the kind {copy.kind!r} can be made."
            return Refused(reason="invalid", message=message)
        if not (is_name(copy.namespace) and is_name(copy.name)):  # another cluster wrote them
            message = f"No job can be called {copy.namespace!r} / {copy.name!r}."
            return Refused(reason="invalid", message=message)
        match order:
            case MakeCopy():
                return await self._create_copy(order.order)
            case RemoveCopy():
                return await self._delete_copy(order)

    async def _create_copy(self, order: CopyOrdered) -> Done | Refused:
        kind, copy = JOB_KINDS[order.copy.kind], order.copy
        if not await self._accepts_copies(copy.namespace):
            message = (
                f"The namespace {copy.namespace} takes no jobs of other clusters: its owner can "
                f"give it the label {names.ACCEPTS_PLACED}: true."
            )
            return Refused(reason="forbidden", message=message)
        existing = await self.calls.read(kind.path(copy.namespace, copy.name))
        if existing is not None:
            return _existing_copy_outcome(existing, order)
        home = cluster_of(order.uid) or self.hub
        body = await self.bodies.read(home, order.body)
        if body is None or digest_of(body) != order.body:
            problem = "no body" if body is None else "another body"
            message = f"The bus has {problem} of cluster {home} under {order.body}."
            return Refused(reason="BodyMissing", message=message)
        identity = Identity(
            kind=kind,
            namespace=copy.namespace,
            name=copy.name,
            digest=order.body,
            origin=order.uid,
        )
        try:
            obj = copy_of(body, identity)
        except UndecodableError as error:
            return Refused(reason="invalid", message=str(error))
        await self.calls.create(kind.path(copy.namespace), obj)
        _log.info("copy made", namespace=copy.namespace, name=copy.name, origin=order.uid)
        return Done()

    async def _accepts_copies(self, namespace: str) -> bool:
        obj = await self.calls.read(f"/api/v1/namespaces/{namespace}")
        labels = {} if obj is None else obj["metadata"].get("labels") or {}
        return bool(labels.get(names.ACCEPTS_PLACED) == "true")

    async def _delete_copy(self, order: RemoveCopy) -> Done:
        """Delete a copy in the foreground; leave an object with the origin of another job alone.

        An object whose origin annotation was removed is deleted too: its uid is the copy's.
        """
        copy = order.order.copy
        path = JOB_KINDS[copy.kind].path(copy.namespace, copy.name)
        obj = await self.calls.read(path)
        if obj is None or obj["metadata"]["uid"] != copy.uid:
            return Done()
        if _origin_uid(obj) not in ("", order.order.uid):
            return Done()
        if "deletionTimestamp" not in obj["metadata"]:
            options = {"preconditions": {"uid": copy.uid}, "propagationPolicy": "Foreground"}
            await self.calls.delete(path, options)
        return Done()


def _existing_copy_outcome(existing: Object, order: CopyOrdered) -> Done | Refused:
    if _origin_uid(existing) == order.uid:
        return Done()
    copy = order.copy
    message = f"{copy.namespace} has an object {copy.name} that is no copy of this job."
    return Refused(reason="NameTaken", message=message)


def _origin_uid(obj: Object) -> str:
    return str((obj["metadata"].get("annotations") or {}).get(names.ORIGIN, ""))


def _is_transient(error: Exception) -> bool:
    """Return whether an error may be gone in a moment; a conflict: the name was taken meanwhile."""
    if isinstance(error, ApiStatusError):
        return is_temporary(error) or error.status == HTTPStatus.CONFLICT
    return True


def _refusal_reason(error: Exception) -> Refusal:
    if isinstance(error, ApiStatusError) and not is_temporary(error):
        return _REASONS.get(error.status, "invalid")
    return "unreachable"

"""How an actuator carries out orders: while it may, the newest, and each for the object it read."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any

import msgspec

from tests.simulation.judging.verdict import demand
from tidegate.contracts.codec import decode
from tidegate.contracts.decisions import StartOrdered, StopOrdered
from tidegate.contracts.entry import Published

Object = dict[str, Any]
DECISION = "tidegate.dev/decision"
PINS = ("uid", "resourceVersion")
STEP_S = 3.0
"""What is begun may be brought to the end of a step."""
HELD_S = 15.0
"""A lease lasts ten seconds from its last renewal; its holder may be late to see its end."""


class Carrying:
    """Of one process: it dies with it."""

    def __init__(self) -> None:
        self._refused = set[tuple[str, bytes]]()  # paths and patches that met a conflict
        self._heard = dict[str, tuple[str, int, float]]()  # newest order of a job, and since when
        self._held_s: float | None = None  # when it was told last that the lease is its own
        self.holds = False  # the lease, as far as it was told

    def hear(self, message: Published) -> None:
        """Note an order that it was handed."""
        event = decode(message.payload)
        if isinstance(event, StartOrdered | StopOrdered):
            self._heard[event.job.uid] = message.ledger_id, message.seq, _now_s()

    def hold(self, *, ours: bool) -> None:
        """Note what it was told of its lease."""
        self.holds = ours
        self._held_s = _now_s() if ours else self._held_s

    def object_to(self, path: str, body: bytes, woke_s: float) -> None:
        """Object to a patch of a Job that must not be sent; ``woke_s``: since when it is awake."""
        demand((path, body) not in self._refused, "repair", f"{path} is sent again as refused")
        change: Object = msgspec.json.decode(body)
        meta = change.get("metadata", {})
        pinned = all(meta.get(pin) for pin in PINS)
        demand(pinned, "past", f"{path} is changed in whatever version it has")
        ledger_id, _, seq = meta.get("annotations", {}).get(DECISION, "").rpartition("/")
        if seq:
            self._object_to_outdated(meta["uid"], ledger_id, int(seq), woke_s)
        demand(self._held_s is not None, "once", f"{path} is changed without a lease")
        late = self._held_s is not None and _now_s() - self._held_s > HELD_S
        lately = _now_s() - woke_s <= STEP_S
        demand(lately or not late, "once", f"{path} is changed with a lease that was lost")

    def answered(self, path: str, body: bytes, status: int) -> None:
        """Note what the API server said."""
        if status == HTTPStatus.CONFLICT:
            self._refused.add((path, body))

    def _object_to_outdated(self, uid: str, ledger_id: str, seq: int, woke_s: float) -> None:
        newest_id, newest, since_s = self._heard.get(uid, ("", 0, 0.0))
        outdated = newest_id == ledger_id and newest > seq
        late = outdated and _now_s() - max(since_s, woke_s) > STEP_S
        demand(not late, "past", f"{uid}: {seq} is carried out, and {newest} came before that")


def _now_s() -> float:
    return asyncio.get_running_loop().time()

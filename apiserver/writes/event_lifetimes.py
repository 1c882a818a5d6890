"""Events are kept for an hour after they were written last, or a server would never stop growing.

The real server's etcd lets them go at that time; here they go with the next Event that is written.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from apiserver.resources import EVENTS
from apiserver.state import Change, State

LASTING_US = 3_600_000_000
"""The default of kube-apiserver's ``--event-ttl``."""


class EventLifetimes:
    """The written Events of one state, the oldest first."""

    def __init__(self, state: State, now_us: Callable[[], int]) -> None:
        self._state, self._now_us = state, now_us
        self._written = deque[tuple[int, str, str, str]]()  # when, namespace, name, version

    def notify(self, change: Change) -> None:
        """See ``State.listeners``: note an Event, and remove those whose time is over."""
        if change.resource != EVENTS.key or change.after is None:
            return
        metadata, now_us = change.after["metadata"], self._now_us()
        place = metadata["namespace"], metadata["name"]
        self._written.append((now_us, *place, metadata["resourceVersion"]))
        while self._written[0][0] <= now_us - LASTING_US:
            _, namespace, name, version = self._written.popleft()
            event = self._state.get(EVENTS.key, namespace, name)
            if event is not None and event["metadata"]["resourceVersion"] == version:
                self._state.remove(EVENTS.key, event)

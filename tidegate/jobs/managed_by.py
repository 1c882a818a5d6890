"""Which controller runs an object: its kind's own, MultiKueue's, or a third party's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from tidegate.jobs.templates.paths import Path, text_at
from tidegate.kinds.names import PLACED
from tidegate.kinds.policies.frameworks import MULTIKUEUE


class ManagedBy(msgspec.Struct, frozen=True, kw_only=True):
    """The field of a kind that names the controller of an object."""

    path: Path
    own: str  # the kind's own controller, which is meant where nothing stands

    def other(self, obj: Mapping[str, Any]) -> str:
        """Return the third-party controller that runs an object; empty: its kind's own."""
        named = text_at(obj, self.path)
        return "" if named == self.own else named

    def is_elsewhere(self, obj: Mapping[str, Any]) -> bool:
        """Return whether an object belongs to another controller, which Kueue leaves alone."""
        return self.other(obj) not in ("", MULTIKUEUE, PLACED)

    def gates(self, obj: Mapping[str, Any]) -> tuple[str, ...]:
        """Return what keeps an object from starting: that another cluster is to run it."""
        return (MULTIKUEUE,) if self.other(obj) == MULTIKUEUE else ()

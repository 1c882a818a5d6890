"""Which of Kueue's feature gates can be set to what here."""

from __future__ import annotations

from tidegate.errors import SettingsError
from tidegate.model.gates import GATES, HEEDED

_LACKING = (
    "LWS",
    "MultiKueue",
    "TASAssignmentsEncoding",
    "TASCach",
    "DeferRayService",
    "ValidateRayAndSpark",
)
"""What begins so is about what Tidegate does not do, or does in its own way whatever the gate."""


def check_gates(gates: dict[str, bool]) -> dict[str, bool]:
    """Return the gates that differ from their defaults, in order of their names.

    Raises:
        SettingsError: Kueue has no such gate, or it makes no difference here.
    """
    return {
        name: value
        for name, value in sorted(gates.items())
        if _differs_from_default(name, on=value)
    }


def _differs_from_default(name: str, *, on: bool) -> bool:
    if name not in GATES:
        raise SettingsError(f"featureGates: Kueue has no gate {name}.")
    if on == GATES[name]:
        return False
    if name in HEEDED:
        return True
    if not on and name.startswith(_LACKING):
        return False
    why = "what it opens is not built" if on else "what it closes cannot be left out"
    raise SettingsError(f"featureGates: {name} cannot be {str(on).lower()} with Tidegate: {why}.")

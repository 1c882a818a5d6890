"""Which of Kueue's feature gates can be set to what here."""

from __future__ import annotations

from tidegate.errors import SettingsError
from tidegate.model.gates import GATES, HEEDED, REMOVED

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
    return {name: value for name, value in sorted(gates.items()) if has_effect(name, on=value)}


def has_effect(name: str, *, on: bool) -> bool:
    """Return whether a gate with this value differs from its default, and is implemented.

    Raises:
        SettingsError: see ``check_gates``.
    """
    if REMOVED.get(name) is on:
        return False
    if name in REMOVED:
        raise SettingsError(
            f"featureGates: {name} was removed from Kueue, and cannot be {str(on).lower()}: remove"
            " it from the file."
        )
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

"""What a case asks for that is not built yet, reported by the case itself and never by its name."""

from __future__ import annotations

from collections.abc import Callable

from tests.conformance.cases import Case

SCHEDULER = "node checks by kube-scheduler's own library"
DEVICES = "device claims"


def needs(case: Case) -> str | None:
    """Return why a case cannot be judged yet, or None if it can."""
    return next((why for why, asked in _NEEDS if asked(case)), None)


def believed_bug(case: Case) -> str | None:
    """Return which bug of Kueue we believe a case to record, or None."""
    return next((why for why, records in _BUGS if records(case)), None)


def _kube_scheduler(case: Case) -> bool:
    return case.gates.get("SchedulerLibraryIntegration", False)


def _devices(case: Case) -> bool:
    return "preprocessedDRAResources" in case.input


_NEEDS: tuple[tuple[str, Callable[[Case], bool]], ...] = (
    (SCHEDULER, _kube_scheduler),
    (DEVICES, _devices),
)
_BUGS: tuple[tuple[str, Callable[[Case], bool]], ...] = ()

"""Compares the decisions of a ledger in shadow mode with those of the controller beside it.

In shadow mode no service carries out the ledger's decisions, so every start and stop in its facts
was the other controller's. The first start and the first stop of each workload are compared. A
workload that the ledger admitted uses quota there until its job ends, even if the other controller
started the job; so a difference in a cohort may cause later differences.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

import msgspec

from tidegate.contracts import decisions, facts
from tidegate.contracts.codec import decode
from tidegate.contracts.entry import Entry
from tidegate.contracts.facts import Event
from tidegate.contracts.observations import JobState
from tidegate.replay.story.sentences import sentence

Start = Literal["starts only here", "starts only there", "starts earlier", "starts later"]
Stop = Literal["stops only here", "stops only there"]
WITHIN_US = 10_000_000
"""Starts that are no further apart than this, in microseconds, count as equal."""


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """One workload that the controllers treat differently; "here" is the ledger."""

    workload: str
    difference: Start | Stop
    here_us: int = 0  # time of the ledger's decision; 0: none
    there_us: int = 0  # time of the other's observed start or stop; 0: none
    why: str = ""  # the ledger's reason


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """The result of comparing a ledger with another controller."""

    workloads: int  # submitted in the ledger
    adopted: int  # ran before the ledger began: not compared
    alike: int
    carried_out: int  # started by this ledger's own order: it was not in shadow mode
    differences: tuple[Difference, ...]


class _WorkloadTimes(msgspec.Struct):
    """The starts and stops of one workload by both controllers."""

    workload: str
    adopted: bool = False
    ours: bool = False  # its job has a decision of this ledger
    start_here_us: int = 0
    start_there_us: int = 0
    stop_here_us: int = 0
    stop_there_us: int = 0
    pending_reason: str = ""  # its last pending reason before the other controller started it
    evicted: str = ""


def compare(entries: Iterable[Entry], within_us: int = WITHIN_US) -> Comparison:
    """Compare a ledger's decisions with the starts and stops in its facts.

    O(workloads) memory; entries in the ledger's order, from its first one.
    """
    courses, ledger_id = dict[str, _WorkloadTimes](), ""
    for entry in entries:
        event = decode(entry.payload)
        if isinstance(event, facts.LedgerOpened):
            ledger_id = event.ledger_id
        elif isinstance(event, facts.WorkloadSubmitted):
            courses[f"{event.workload} {event.uid}"] = _WorkloadTimes(event.workload)
        key = f"{getattr(event, 'workload', '')} {getattr(event, 'uid', '')}"
        if key in courses:
            _record_event(courses[key], event, ledger_id)
    compared = [course for course in courses.values() if not course.adopted and not course.ours]
    differing = {course.workload: list(_differences(course, within_us)) for course in compared}
    return Comparison(
        workloads=len(courses),
        adopted=sum(course.adopted for course in courses.values()),
        alike=sum(not differences for differences in differing.values()),
        carried_out=sum(course.ours for course in courses.values()),
        differences=tuple(
            difference for differences in differing.values() for difference in differences
        ),
    )


def _record_event(course: _WorkloadTimes, event: Event, ledger_id: str) -> None:
    match event:
        case facts.WorkloadSubmitted() | facts.JobStateReported():
            _record_state(course, event.state, event.at_us, ledger_id)
        case facts.WorkloadAdopted():
            course.adopted = True
        case facts.WorkloadFinished():  # its run may not have been observed
            course.start_there_us = course.start_there_us or event.at_us
        case decisions.WorkloadPending() if not course.start_there_us:
            course.pending_reason = sentence(event, course.workload)
        case decisions.WorkloadAdmitted():
            course.start_here_us = course.start_here_us or event.at_us
        case decisions.WorkloadEvicted():
            course.stop_here_us = course.stop_here_us or event.at_us
            course.evicted = course.evicted or sentence(event, course.workload)
        case _:
            pass  # does not concern starts and stops


def _record_state(course: _WorkloadTimes, state: JobState, at_us: int, ledger_id: str) -> None:
    if not state.suspended:
        course.start_there_us = course.start_there_us or at_us
        course.ours = course.ours or state.decision.startswith(f"{ledger_id}/")
    elif course.start_there_us:
        course.stop_there_us = course.stop_there_us or at_us


def _differences(course: _WorkloadTimes, within_us: int) -> Iterator[Difference]:
    here_us, there_us = course.start_here_us, course.start_there_us
    if (literal := _start_difference(here_us, there_us, within_us)) is not None:
        late = literal in ("starts only there", "starts later")
        why = course.pending_reason if late else ""
        yield _difference(course, literal, here_us, there_us, why)
    if course.stop_here_us and not course.stop_there_us:
        yield _difference(course, "stops only here", course.stop_here_us, 0, course.evicted)
    elif course.stop_there_us and not course.stop_here_us:
        yield _difference(course, "stops only there", 0, course.stop_there_us, "")


def _start_difference(here_us: int, there_us: int, within_us: int) -> Start | None:
    match bool(here_us), bool(there_us):
        case True, False:
            return "starts only here"
        case False, True:
            return "starts only there"
        case _ if abs(here_us - there_us) > within_us:
            return "starts earlier" if here_us < there_us else "starts later"
        case _:
            return None


def _difference(
    course: _WorkloadTimes, literal: Start | Stop, here_us: int, there_us: int, why: str
) -> Difference:
    return Difference(
        workload=course.workload, difference=literal, here_us=here_us, there_us=there_us, why=why
    )

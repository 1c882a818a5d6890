"""The audit of a ledger: its chain, its witness, and every decision taken again.

The same facts in other batches give other decisions, so they are decided again at the recorded
turns. A turn is read whole, a history never: constant memory beside the draft.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

import msgspec

from tidegate.contracts.codec import decode
from tidegate.contracts.decisions import Decision
from tidegate.contracts.entry import Entry
from tidegate.contracts.facts import Event
from tidegate.core import chain
from tidegate.core.chain import GENESIS
from tidegate.core.draft import Draft
from tidegate.core.fold import apply
from tidegate.core.rules import decide
from tidegate.errors import AuditError, WitnessError

DECISIONS_MAX = 1_000
"""A turn's bound on decisions, as the scheduler's is."""


class Witness(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody outside the database knows of the ledger: EVENTS' newest message says it."""

    seq: int
    hash: bytes  # of that entry


class Audit(msgspec.Struct, frozen=True, kw_only=True):
    """What was found to hold."""

    events: int
    turns: int
    decisions: int
    epochs: int  # how many terms wrote it
    head_seq: int
    head_hash: bytes
    at_us: int  # of the newest entry


class _Count(msgspec.Struct):
    events: int = 0
    turns: int = 0
    decisions: int = 0
    epochs: int = 0
    head: Entry = GENESIS


def verify(
    entries: Iterable[Entry],
    *,
    witness: Witness | None = None,
    redecide: bool = True,
    decisions_max: int = DECISIONS_MAX,
) -> Audit:
    """Check a history from its first entry; return what was found.

    ``redecide`` takes every decision again and compares; without it only the chain and the witness
    are checked.

    Raises:
        ChainError: an entry is missing, moved or altered.
        WitnessError: the history ends before the witness, or differs from it: its tail was cut off
            or replaced.
        AuditError: the core decides otherwise; its ``seq`` is the first entry that differs.
        UndecodableError: an entry holds an event that this version does not know.
    """
    count, draft = _Count(), Draft()
    for turn, rows in groupby(chain.verify(entries), key=lambda entry: entry.turn):
        told = list(rows)
        for entry in told:
            _compare(witness, entry)
        if redecide:
            count.decisions += _decide_again(draft, turn, told, decisions_max)
        _add(count, told)
    if witness is not None and witness.seq > count.head.seq:
        raise WitnessError(f"an entry with seq {witness.seq}", f"the end at {count.head.seq}")
    return _audit(count)


def _compare(witness: Witness | None, entry: Entry) -> None:
    if witness is not None and entry.seq == witness.seq and entry.hash != witness.hash:
        raise WitnessError(f"{witness.hash.hex()} at seq {entry.seq}", entry.hash.hex())


def _add(count: _Count, told: Sequence[Entry]) -> None:
    count.events += len(told)
    count.turns += 1
    count.epochs += sum(
        entry.epoch != before.epoch
        for before, entry in zip((count.head, *told), told, strict=False)
    )
    count.head = told[-1]


def _audit(count: _Count) -> Audit:
    return Audit(
        events=count.events,
        turns=count.turns,
        decisions=count.decisions,
        epochs=count.epochs,
        head_seq=count.head.seq,
        head_hash=count.head.hash,
        at_us=count.head.at_us,
    )


def _decide_again(draft: Draft, turn: int, told: Sequence[Entry], decisions_max: int) -> int:
    """Fold a turn's facts, decide, and compare with what was recorded; return how many."""
    events = [decode(entry.payload) for entry in told]
    facts = [event for event in events if not isinstance(event, Decision)]
    recorded = events[len(facts) :]
    for fact in facts:
        apply(draft, fact)
    decided: Sequence[Event] = decide(draft, decisions_max=decisions_max)
    first = told[0].seq + len(facts)
    for place in range(max(len(recorded), len(decided))):
        was = recorded[place] if place < len(recorded) else None
        now = decided[place] if place < len(decided) else None
        if was != now:
            raise _differs(turn, first + place, was, now)
    return len(recorded)


def _differs(turn: int, seq: int, was: Event | None, now: Event | None) -> AuditError:
    error = AuditError(_said(was, f"no decision at seq {seq}"), _said(now, "no decision"))
    error.seq, error.turn = seq, turn
    return error


def _said(event: Event | None, nothing: str) -> str:
    return nothing if event is None else msgspec.json.encode(event).decode()

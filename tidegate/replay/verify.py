"""Audits a ledger: verifies its chain and its witness, and takes every decision again.

Only one turn at a time is in memory: constant memory beside the state.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

import msgspec

from tidegate.contracts import chain
from tidegate.contracts.chain import GENESIS
from tidegate.contracts.entry import Entry
from tidegate.contracts.facts import Event
from tidegate.core.state.state import State
from tidegate.errors import AuditError, WitnessError
from tidegate.replay.turns import DECISIONS_MAX, Divergence, redecide_turn


class Witness(msgspec.Struct, frozen=True, kw_only=True):
    """A seq and its hash, kept outside the database, e.g. in EVENTS' newest message."""

    seq: int
    hash: bytes  # of that entry


class Audit(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a successful audit."""

    events: int
    turns: int
    decisions: int
    epochs: int  # how many leader terms wrote it
    head_seq: int
    head_hash: bytes
    at_us: int  # of the newest entry


class _Count(msgspec.Struct):
    events: int = 0
    turns: int = 0
    decisions: int = 0
    epochs: int = 0
    head: Entry = GENESIS


def audit_ledger(
    entries: Iterable[Entry],
    *,
    witness: Witness | None = None,
    redecide: bool = True,
    decisions_max: int = DECISIONS_MAX,
    begun: tuple[State, Entry] | None = None,
) -> Audit:
    """Audit a history, from its first entry or from the one after ``begun``.

    ``redecide`` takes every decision again and compares; without it only the chain and the witness
    are checked.

    Raises:
        ChainError: an entry is missing, moved or altered.
        WitnessError: the history ends before the witness, or differs from it: its tail was cut off
            or replaced.
        AuditError: the core decides otherwise; its ``seq`` is the first entry that differs.
        UndecodableError: an entry holds an event that this version does not know.
    """
    state, head = begun or (State(), GENESIS)
    count = _Count(head=head)
    for _, rows in groupby(chain.verify(entries, head), key=lambda entry: entry.turn):
        turn = list(rows)
        for entry in turn:
            _check_witness(witness, entry)
        if redecide:
            again = redecide_turn(state, turn, decisions_max)
            if again.divergence is not None:
                raise _divergence_error(again.divergence)
            count.decisions += again.decisions
        _count_turn(count, turn)
    if witness is not None and witness.seq > count.head.seq:
        raise WitnessError(f"an entry with seq {witness.seq}", f"the end at {count.head.seq}")
    return _audit_of(count)


def _check_witness(witness: Witness | None, entry: Entry) -> None:
    if witness is not None and entry.seq == witness.seq and entry.hash != witness.hash:
        raise WitnessError(f"{witness.hash.hex()} at seq {entry.seq}", entry.hash.hex())


def _count_turn(count: _Count, turn: Sequence[Entry]) -> None:
    count.events += len(turn)
    count.turns += 1
    count.epochs += sum(
        entry.epoch != before.epoch
        for before, entry in zip((count.head, *turn), turn, strict=False)
    )
    count.head = turn[-1]


def _audit_of(count: _Count) -> Audit:
    return Audit(
        events=count.events,
        turns=count.turns,
        decisions=count.decisions,
        epochs=count.epochs,
        head_seq=count.head.seq,
        head_hash=count.head.hash,
        at_us=count.head.at_us,
    )


def _divergence_error(divergence: Divergence) -> AuditError:
    error = AuditError(
        f"at seq {divergence.seq} {_json(divergence.recorded)}",
        _json(divergence.decided),
    )
    error.seq, error.turn = divergence.seq, divergence.turn
    return error


def _json(event: Event | None) -> str:
    return "no decision" if event is None else msgspec.json.encode(event).decode()

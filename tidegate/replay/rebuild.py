"""History folded again: how a scheduler starts, and how a reader gets the state."""

from __future__ import annotations

from collections.abc import Iterable

from tidegate.contracts.codec import decode
from tidegate.contracts.entry import Entry
from tidegate.core.chain import GENESIS, verify
from tidegate.core.draft import Draft
from tidegate.core.fold import apply_recorded


def rebuild(
    entries: Iterable[Entry], draft: Draft | None = None, head: Entry = GENESIS
) -> tuple[Draft, Entry]:
    """Verify and fold a history; return the draft and the entry that new ones must follow.

    An entry that makes no sense is passed over: ``draft.passed_over`` counts them.

    ``draft`` and ``head``, if given, are a snapshot's: the entries follow it. The draft given is
    changed and returned. Constant memory beside the draft.

    Raises:
        ChainError: the history was altered.
        UndecodableError: an entry holds an event that this version does not know.
    """
    draft = Draft() if draft is None else draft
    assert draft.seq == head.seq, "the draft ends where the entries begin"
    for entry in verify(entries, head):
        apply_recorded(draft, decode(entry.payload))
        head = entry
    return draft, head

"""What a thief with write access may do to a ledger: change one byte of one column of one row."""

from __future__ import annotations

from typing import Any, NamedTuple

from hypothesis import strategies as st
from sqlalchemy import Engine, update

from store.tables import ledger_event
from tidegate.contracts.entry import Entry

COLUMNS = Entry.__struct_fields__


class Change(NamedTuple):
    """One byte, or one character of a text, of one column of one row becomes another."""

    seq: int
    column: str
    place: float  # from 0 to below 1: where in the value
    by: int  # what is added to the byte

    def of(self, value: Any) -> Any:  # noqa: ANN401 - whatever a column holds
        """Return the value with its one byte changed; never the same value."""
        if isinstance(value, bytes):
            at = int(self.place * len(value))
            return value[:at] + bytes([(value[at] + self.by) % 256]) + value[at + 1 :]
        if isinstance(value, int):
            digits = str(value)
            at = int(self.place * len(digits))
            digit = (int(digits[at]) + 1 + self.by % 9) % 10
            return int(digits[:at] + str(digit) + digits[at + 1 :])
        if not value:
            return "x"
        at = int(self.place * len(value))
        return value[:at] + chr((ord(value[at]) + self.by) % 0xD800 or 1) + value[at + 1 :]

    def make(self, engine: Engine, entry: Entry) -> None:
        """Change the row in the database."""
        column = ledger_event.c[self.column]
        changed = {column.name: self.of(getattr(entry, self.column))}
        with engine.begin() as conn:
            row = (ledger_event.c.partition == entry.partition) & (ledger_event.c.seq == entry.seq)
            conn.execute(update(ledger_event).where(row).values(changed))


def changes(seqs: int) -> st.SearchStrategy[Change]:
    """Return any change of one byte of a ledger of so many rows."""
    return st.builds(
        Change,
        seq=st.integers(1, seqs),
        column=st.sampled_from(COLUMNS),
        place=st.floats(0, 1, exclude_max=True),
        by=st.integers(1, 255),
    )

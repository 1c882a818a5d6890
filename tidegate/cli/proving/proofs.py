"""The proof that one event is under a checkpoint: its turn's rows, and a path through the tree.

A verifier needs this file and the signer's public key, and no ledger: see docs/ledger.md.
"""

from __future__ import annotations

import msgspec

from tidegate.cli.ledger.reading import Reader
from tidegate.cli.progress import with_progress
from tidegate.cli.proving import merkle
from tidegate.cli.proving.checkpoints import Checkpoint, Claim
from tidegate.cli.proving.claims import entry_of_claim, group_by_turn
from tidegate.contracts.chain import GENESIS
from tidegate.contracts.entry import Entry
from tidegate.errors import NotSupportedError, WitnessError


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A row of ``ledger_event`` without its hash, which follows."""

    partition: int
    seq: int
    epoch: int
    turn: int
    at_us: int
    cluster: str
    type: str
    subject: str
    payload: str


class Proof(msgspec.Struct, frozen=True, kw_only=True):
    """That an event is under a checkpoint."""

    seq: int  # which of the rows it is about
    checkpoint: Checkpoint
    before: str  # hash of the row before the turn's first, hexadecimal
    rows: tuple[Row, ...]  # of the event's turn, in order
    leaf: int  # which turn it is, from 0
    path: tuple[str, ...]  # from below, hexadecimal


def make_proof(reader: Reader, seq: int, checkpoint: Checkpoint) -> Proof:
    """Return the proof that the event of a seq is under a checkpoint; reads the ledger once.

    Raises:
        NotSupportedError: the checkpoint is older than the event.
        WitnessError: the ledger is another than the checkpoint's.
    """
    claim = checkpoint.claim
    if not 0 < seq <= claim.seq:
        raise NotSupportedError(f"Seq {seq} is not under this checkpoint: it ends at {claim.seq}.")
    entry_of_claim(reader, claim)
    hashes, entries, before, leaf = list[bytes](), list[Entry](), GENESIS, 0
    head = GENESIS
    for rows in group_by_turn(
        with_progress(reader.ledger.read(0, claim.seq), "proving", claim.seq)
    ):
        if rows[0].seq <= seq <= rows[-1].seq:
            entries, before, leaf = rows, head, len(hashes)
        head = rows[-1]
        hashes.append(head.hash)
    _refuse_other_tree(hashes, claim)
    return Proof(
        seq=seq,
        checkpoint=checkpoint,
        before=before.hash.hex(),
        rows=tuple(map(_entry_row, entries)),
        leaf=leaf,
        path=tuple(sibling.hex() for sibling in merkle.audit_path(hashes, leaf)),
    )


def _refuse_other_tree(hashes: list[bytes], claim: Claim) -> None:
    tree = merkle.Tree()
    for turn_hash in hashes:
        tree.add(turn_hash)
    if tuple(peak.hex() for peak in tree.peaks) != claim.peaks:
        raise WitnessError("the turns under the checkpoint", "others in this ledger")


def _entry_row(entry: Entry) -> Row:
    return Row(**{name: getattr(entry, name) for name in Row.__struct_fields__})

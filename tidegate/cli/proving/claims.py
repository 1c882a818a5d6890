"""The claim of a ledger's checkpoint, made by checking its chain: all of it, or its new part."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import attrgetter

from tidegate.cli.ledger.reading import Reader
from tidegate.cli.proving.checkpoints import Claim, claim_digest
from tidegate.cli.proving.merkle import Tree
from tidegate.cli.proving.witnesses import ledger_id_in
from tidegate.contracts import chain
from tidegate.contracts.chain import GENESIS
from tidegate.contracts.entry import Entry
from tidegate.errors import NotSupportedError, WitnessError


def make_claim(reader: Reader, earlier: Claim | None = None) -> Claim:
    """Return the head of a ledger that a reader sees, once its chain is checked.

    ``earlier``: the claim names it, and what is under it is not read again.

    Raises:
        ChainError: the chain does not hold.
        NotSupportedError: the ledger is empty.
        WitnessError: the earlier claim is of another ledger or another history.
    """
    ledger_id, begun, tree = "", GENESIS, Tree()
    if earlier is not None and earlier.seq:
        begun = entry_of_claim(reader, earlier)
        ledger_id = earlier.ledger_id
        tree = Tree(earlier.turns, [bytes.fromhex(peak) for peak in earlier.peaks])
    head = begun
    for turn in group_by_turn(chain.verify(reader.entries("checking", begun.seq), begun)):
        for head in turn:
            ledger_id = ledger_id_in(head) or ledger_id
        tree.add(head.hash)
    if head is GENESIS:
        raise NotSupportedError(f"{reader.url} is empty: there is nothing to vouch for.")
    return Claim(
        ledger_id=ledger_id,
        cluster=head.cluster,
        partition=head.partition,
        seq=head.seq,
        at_us=head.at_us,
        hash=head.hash.hex(),
        turns=tree.leaves,
        peaks=tuple(peak.hex() for peak in tree.peaks),
        before="" if earlier is None else claim_digest(earlier),
    )


def entry_of_claim(reader: Reader, claim: Claim) -> Entry:
    """Return the entry that a claim vouches for."""
    for entry in reader.ledger.read(claim.seq - 1, claim.seq):
        if entry.hash.hex() != claim.hash:
            raise WitnessError(f"{claim.hash} at seq {claim.seq}", entry.hash.hex())
        return entry
    raise WitnessError(f"an entry with seq {claim.seq}", f"the end at {reader.end}")


def group_by_turn(entries: Iterable[Entry]) -> Iterator[list[Entry]]:
    """Yield the rows of each turn."""
    return (list(rows) for _, rows in groupby(entries, attrgetter("turn")))

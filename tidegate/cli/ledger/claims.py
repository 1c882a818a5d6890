"""What a checkpoint of a ledger claims, found by checking its chain."""

from __future__ import annotations

from tidegate.cli.ledger.checkpoints import Claim
from tidegate.cli.ledger.reading import Reader
from tidegate.cli.ledger.witnesses import ledger_id_in
from tidegate.core.state import chain
from tidegate.core.state.chain import GENESIS
from tidegate.errors import NotSupportedError


def claim_of(reader: Reader) -> Claim:
    """Return the head of a ledger that a reader sees, once its chain is checked from its beginning.

    Raises:
        ChainError: it does not hold.
        NotSupportedError: the ledger is empty.
    """
    ledger_id, head = "", GENESIS
    for head in chain.verify(reader.entries("checking")):
        ledger_id = ledger_id_in(head) or ledger_id
    if head is GENESIS:
        raise NotSupportedError(f"{reader.url} is empty: there is nothing to vouch for.")
    return Claim(
        ledger_id=ledger_id,
        cluster=head.cluster,
        partition=head.partition,
        seq=head.seq,
        at_us=head.at_us,
        hash=head.hash.hex(),
    )

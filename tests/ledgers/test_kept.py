"""Ledgers of every version verify for ever: their chain, their decisions, their reports.

``kept/<version>-<what>.jsonl.gz`` is never written anew; a release adds its own with
``python -m tests.ledgers``. A test here that fails means that history reads differently: see
docs/adr/0003 and 0008.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from store.archive.archive_format import Archive
from store.reading.as_of import reports_as_of
from tests.parts.reports import rows
from tidegate.contracts import chain
from tidegate.contracts.chain import GENESIS, seal
from tidegate.contracts.codec import decode
from tidegate.contracts.entry import Entry
from tidegate.contracts.facts import LedgerOpened, PolicyConfigured, WatchesExpected
from tidegate.core.decide import VERSION
from tidegate.errors import UnknownRulesError
from tidegate.model.policy import Policy
from tidegate.replay.verify import audit_ledger

KEPT = Path(__file__).parent / "kept"
HEADS = {
    "0.1.0-sample": "3a049e2fa6bfe89c30892d8a46f74ea01dab6da03ef76719fb571f160caf9636",
    "0.1.0-busy": "024d07685378c03be88b112a57f4f2c8c9f2c5fe382de392134cf6b520c1d8bd",
}
"""The hash of each one's last entry, so that the files themselves cannot be changed."""


def test_every_kept_ledger_is_listed() -> None:
    assert {path.name.removesuffix(".jsonl.gz") for path in KEPT.iterdir()} == HEADS.keys()


@pytest.mark.parametrize("name", HEADS)
def test_a_ledger_of_that_version_still_verifies(name: str) -> None:
    audit = audit_ledger(Archive(KEPT / f"{name}.jsonl.gz").read())
    assert audit.head_hash.hex() == HEADS[name]
    assert audit.decisions > 0


@pytest.mark.parametrize("name", HEADS)
def test_every_event_of_that_version_is_read_and_has_its_reports(name: str) -> None:
    entries = list(Archive(KEPT / f"{name}.jsonl.gz").read())
    assert all(decode(entry.payload).at_us == entry.at_us for entry in entries)
    with reports_as_of(entries) as engine:
        assert rows(engine, "quota_now")
        assert rows(engine, "holdings")


def opened(policy: Policy) -> list[Entry]:
    events = [
        LedgerOpened(at_us=1, ledger_id="led"),
        PolicyConfigured(at_us=1, name="tidegate", policy=policy),
        WatchesExpected(at_us=1, resources=()),
    ]
    return seal(GENESIS, 1, "local", events)


def test_rules_of_a_newer_version_are_recognized_and_not_guessed() -> None:
    entries = opened(Policy(rules=VERSION + 1))
    assert sum(1 for _ in chain.verify(entries)) == 3
    assert audit_ledger(entries, redecide=False).head_seq == 3
    with pytest.raises(UnknownRulesError, match=f"up to {VERSION}, found {VERSION + 1}"):
        audit_ledger(entries)


def test_a_policy_without_a_version_has_the_first() -> None:
    [_, policy, _] = opened(Policy())
    assert "rules" not in policy.payload
    event = decode(policy.payload)
    assert isinstance(event, PolicyConfigured)
    assert replace(event.policy, rules=1) == event.policy
    assert audit_ledger(opened(Policy())).head_seq == 3

"""A next version of the rules, made by a test: older ledgers are decided by the older rules.

Shows the recipe of CONTRIBUTING.md, "A rule": the version is raised, and the new rule yields
nothing while the ledger names a lower one.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import pytest

from tidegate.cli.sample import ledger as sample
from tidegate.contracts.decisions import DecisionEvent, WorkloadDeactivated
from tidegate.contracts.entry import Entry
from tidegate.core import decide as rules
from tidegate.core.state.state import State, decision_fields
from tidegate.errors import AuditError, UnknownRulesError
from tidegate.replay.verify import audit_ledger

NEXT = rules.VERSION + 1


def deactivate_pending(state: State) -> Iterator[list[DecisionEvent]]:
    """Deactivate each workload that waits for quota; no version does so."""
    for workload in list(state.workloads.values()):
        if workload.phase == "pending" and workload.pending_status is not None:
            yield [WorkloadDeactivated(**decision_fields(state, workload), reason="NextRules")]


def deactivate_since(state: State) -> Iterator[list[DecisionEvent]]:
    """Do so from the next version on, as CONTRIBUTING.md has it."""
    if state.policy.rules >= NEXT:
        yield from deactivate_pending(state)


def written() -> list[Entry]:
    """Return the sample's ledger as the rules in force decide it."""
    return list(chain.from_iterable(sample.sample_turns()))


def raise_version(patch: pytest.MonkeyPatch, rule: rules.Rule) -> None:
    """Make the program that has the next version of the rules."""
    patch.setattr(rules, "VERSION", NEXT)
    patch.setattr(sample, "VERSION", NEXT)
    patch.setattr(rules, "KNOWN", range(1, NEXT + 1))
    patch.setattr(rules, "RULES", (*rules.RULES, rule))


def deactivations(entries: list[Entry]) -> int:
    return sum(entry.type == "WorkloadDeactivated" for entry in entries)


def test_the_next_version_decides_older_ledgers_by_the_older_rules(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = written()
    raise_version(monkeypatch, deactivate_since)
    assert audit_ledger(before).head_hash == before[-1].hash
    after = written()
    assert deactivations(after) > deactivations(before)
    assert audit_ledger(after).head_hash == after[-1].hash


def test_a_rule_that_does_not_ask_for_the_version_makes_older_ledgers_look_forged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = written()
    raise_version(monkeypatch, deactivate_pending)
    with pytest.raises(AuditError, match="NextRules"):
        audit_ledger(before)


def test_this_version_refuses_a_ledger_of_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        raise_version(patch, deactivate_since)
        after = written()
    with pytest.raises(UnknownRulesError, match=f"up to {rules.VERSION}, found {NEXT}"):
        audit_ledger(after)


def test_a_version_that_left_the_known_ones_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    before = written()
    raise_version(monkeypatch, deactivate_since)
    monkeypatch.setattr(rules, "KNOWN", range(NEXT, NEXT + 1))
    with pytest.raises(UnknownRulesError, match=f"found {rules.VERSION - 1}"):
        audit_ledger(before)

"""The list of differences in docs/differences.md is what the two modes do today."""

from __future__ import annotations

import pytest

from tests.differential.differences import DOCUMENT, document
from tests.differential.reasons import RULES
from tests.differential.scenarios import DATA, classes
from tests.differential.without import PARTS, without
from tests.differential.world import World


@pytest.mark.slow
def test_the_document_lists_every_scenario_that_differs() -> None:
    text = DOCUMENT.read_text()
    assert document(text) == text, "run python -m tests.differential.differences"


def test_every_rule_has_its_row_in_the_document() -> None:
    text = DOCUMENT.read_text()
    assert [rule for rule in RULES if f"| {rule} |" not in text] == []


def test_a_rule_that_was_left_out_is_back_afterwards() -> None:
    parts = [part for rule in PARTS.values() for part in rule]
    before = [getattr(part.module, part.name) for part in parts]
    scenario = dict(classes(DATA))["mixed"][0]
    for rule in PARTS:
        with without(rule):
            World(scenario, "tidegate")
    assert [getattr(part.module, part.name) for part in parts] == before

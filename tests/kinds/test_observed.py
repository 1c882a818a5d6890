"""What Kueue was seen to do with each kind of job, put to Tidegate: ``python -m tests.kinds``."""

from __future__ import annotations

import pytest

from tests.kinds.observed.answers import is_restored, stands_otherwise
from tests.kinds.observed.cases import CASES as OBSERVED
from tests.kinds.observed.cases import TRIED, kinds
from tests.kinds.observed.compare import differences
from tests.kinds.observed.deliberate import TABLE
from tests.kinds.observed.rows import Row

CASES = dict(kinds(OBSERVED)) | {f"tried {kind}": cases for kind, cases in kinds(TRIED)}


@pytest.mark.parametrize("kind", CASES)
def test_each_answer_is_kueues_but_for_what_is_done_otherwise_on_purpose(kind: str) -> None:
    mapping = {case.id: differences(case) for case in CASES[kind]}
    assert {name: lines for name, lines in mapping.items() if lines} == {}


@pytest.mark.parametrize("kind", CASES)
def test_a_stop_makes_the_spec_what_it_was_before_the_start_byte_for_byte(kind: str) -> None:
    changed = [case.id for case in CASES[kind] if not is_restored(case)]
    assert changed == []


@pytest.mark.parametrize("kind", CASES)
def test_how_an_object_stands_is_reported_the_same_of_one_that_cannot_be_read(kind: str) -> None:
    mapping = {case.id: stands_otherwise(case) for case in CASES[kind]}
    assert {name: text for name, text in mapping.items() if text} == {}


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.why[:40])
def test_without_a_row_of_the_table_some_answer_differs(row: Row) -> None:
    others = tuple(candidate_row for candidate_row in TABLE if candidate_row is not row)
    about = (case for cases in CASES.values() for case in cases if row.is_about(case))
    assert any(differences(case, others) for case in about)

"""Whatever a name is, its subject is one line that NATS takes, and means that name alone."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.parts.drawn import drawn
from tidegate.contracts.subjects import name_of, observed_subject, token

LINE_MAX = 4_096
NAMES = ("a.b", "a b", "a\r\nUNSUB\t1\r\n", "\0", "%2E", "%", "*", ">", "_", "jobs.batch", "é")


@pytest.mark.parametrize("name", NAMES)
def test_a_token_has_nothing_that_nats_gives_a_meaning(name: str) -> None:
    assert re.search(r"[\s.*>\x00-\x20\x7f]", token(name)) is None
    assert name_of(token(name)) == ("" if name == "_" else name)


@drawn(50)
@given(st.text(max_size=253))
def test_a_token_means_one_name(name: str) -> None:
    assert name_of(token(name)) == ("" if name == "_" else name)


@pytest.mark.parametrize("name", ["y" * 5_000, "." * 100_000, "\ud800" * 300])
def test_a_name_of_any_length_fits_into_a_line_and_stays_one_name(name: str) -> None:
    subject = observed_subject("c" * 63, "pods", "n" * 63, name)
    assert len(subject.encode(errors="replace")) < LINE_MAX
    assert subject != observed_subject("c" * 63, "pods", "n" * 63, f"{name}x")

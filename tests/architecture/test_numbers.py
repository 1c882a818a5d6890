"""Whole numbers in texts of other authors are read in one place, with a bound."""

from __future__ import annotations

from pathlib import Path

from tests.architecture.syntax import outline

ROOT = Path(__file__).parents[2]
READER = "tidegate/model/texts.py"
READS_OUTSIDE = (
    *(f"tidegate/{room}" for room in ("bus", "contracts", "core", "jobs", "kinds", "model")),
    "ingest",
    "scheduler",
    "actuator",
)
NO_TEXT = {
    "int(exponent[1:])",  # the whole quantity has at most 64 characters
    "int(sum((Fraction(number) * _UNITS_US[unit] for number, unit in parts)))",
    "int(part)",  # a path of our own, or of the configuration
    "int(url.rpartition(':')[2])",
    "int(words[first])",  # what JetStream counts
    "int(words[first + 1])",
    "int(words[first + 2])",
    "int(headers['Nats-Sequence'])",
    "int((message.headers or {})['Nats-Sequence'])",
    "int(number)",  # of nine digits at most: a regular expression says so
    "int(found['metadata']['generation'])",
    "int((loop.time() - began) / _BEAT_S)",
    "int(min(strategy.backoff_base_seconds * 2 ** (attempt - 1), most_s))",
}
"""Calls whose argument is bounded where it stands, or a number or a truth already."""


def test_nothing_but_the_bounded_reader_makes_numbers_of_text() -> None:
    files = (path for room in READS_OUTSIDE for path in (ROOT / room).rglob("*.py"))
    names = {
        f"{path.relative_to(ROOT)}: {call}"
        for path in files
        if str(path.relative_to(ROOT)) != READER
        for call in outline(path).conversions
        if call not in NO_TEXT
    }
    assert names == set()

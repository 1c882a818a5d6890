"""What the default mode answers to every recorded scenario is what is written down."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.differential.pins import FOLDER, answers, files, read
from tests.differential.scenarios import Scenario

FILES = list(files())
MORE = pytest.mark.slow


@pytest.mark.parametrize(
    ("path", "scenarios"),
    [
        pytest.param(
            path, scenarios, id=path.stem, marks=MORE if path.stem.startswith("more-") else ()
        )
        for path, scenarios in FILES
    ],
)
def test_the_default_mode_answers_as_pinned(path: Path, scenarios: list[Scenario]) -> None:
    kept = read(path)
    mapping = {scenario.id: answers(scenario) for scenario in scenarios}
    assert mapping == kept, "run python -m tests.differential.pins, and read the diff"


def test_every_file_of_pins_is_of_a_class() -> None:
    assert {path.name for path, _ in FILES} == {path.name for path in FOLDER.iterdir()}

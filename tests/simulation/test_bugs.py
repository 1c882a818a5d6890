"""Each bug that was put in on purpose is found by a seed or a test that holds without it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.simulation.bugs.__main__ import main
from tests.simulation.bugs.hunt import found_by_test, hunt
from tests.simulation.bugs.page import PAGE, table
from tests.simulation.bugs.patches import ROOT, Bug, every_bug, put_in

BUGS = every_bug()
SAMPLE = [bug for bug in BUGS if bug.name == "adopted-without-charge"]
"""What costs one world, to see that bugs are found; the others are tried by `make test-all`."""
SEEDS = range(30)
"""Which seed finds a bug changes with whatever else the worlds do: the known one may not still."""


def _named(bug: Bug) -> str:
    return bug.name


@pytest.mark.slow
@pytest.mark.parametrize("bug", BUGS, ids=_named)
def test_a_bug_is_found(bug: Bug) -> None:
    known = [] if bug.seed is None else [bug.seed]
    by_test = bool(bug.test) and found_by_test(bug)
    assert by_test or hunt(bug, [*known, *SEEDS]) is not None, "no test and no world shows it"


@pytest.mark.parametrize("bug", SAMPLE, ids=_named)
def test_a_bug_of_the_sample_is_found(bug: Bug) -> None:
    assert bug.seed is not None
    assert hunt(bug, [bug.seed, 1, 2]) is not None, "no world of these seeds shows it"


def test_of_a_bug_without_a_seed_it_is_said_that_none_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "new.patch"
    file.write_text("No seed was looked for.\n\n--- a/tidegate/none.py\n")
    monkeypatch.setattr("sys.argv", ["bugs", "--known", str(file)])
    assert main() == 0
    assert capsys.readouterr().out == "new: NO SEED IS KNOWN\n0 not found\n"


@pytest.mark.parametrize("bug", BUGS, ids=_named)
def test_a_bug_fits_the_code(bug: Bug) -> None:
    put_in(bug, ROOT, "--check")


def test_the_page_names_what_finds_each_bug() -> None:
    written = PAGE.read_text().splitlines()
    assert [line for line in written if line in table(BUGS)] == table(BUGS)

"""The guard over the measurements: medians, ratios, and when a loss is one too many."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from bench.__main__ import main
from bench.guard.guarded import UnmeasuredError
from bench.guard.kept import Sample, Table, compare, median_run, read, report, write


def sample(figure: float, raw: float = 100.0) -> Sample:
    return Sample(figure=figure, raw=raw, unit="things / loops")


def table(**outcomes: Sample) -> Table:
    return Table(date="2026-01-01", machine="any", outcomes=outcomes)


def test_the_median_is_of_the_ratios_and_not_of_the_figures() -> None:
    slow_machine, fast_machine, odd = sample(10, 10), sample(40, 20), sample(30, 5)
    mapping = median_run([{"core": slow_machine}, {"core": odd}, {"core": fast_machine}])
    assert mapping == {"core": fast_machine}


def test_an_outcome_that_one_run_lacks_has_no_median() -> None:
    assert median_run([{"core": sample(1), "ledger": sample(2)}, {"core": sample(1)}]) == {
        "core": sample(1)
    }


@pytest.mark.parametrize(("figure", "fails"), [(81, False), (79, True), (150, False)])
def test_more_than_a_fifth_lost_fails(figure: float, fails: bool) -> None:  # noqa: FBT001 - a case
    [verdict] = compare({"core": sample(figure)}, table(core=sample(100)))
    assert verdict.failed is fails


def test_a_slower_machine_loses_nothing() -> None:
    [verdict] = compare({"core": sample(10, raw=10)}, table(core=sample(100, raw=100)))
    assert verdict.loss == 0


def test_what_is_measured_for_the_first_time_cannot_fail() -> None:
    verdicts = compare({"core": sample(1)}, None) + compare({"core": sample(1)}, table())
    assert [verdict.failed for verdict in verdicts] == [False, False]


def test_a_failure_says_which_and_by_how_much() -> None:
    items = list(
        report(compare({"core": sample(50), "ledger": sample(7)}, table(core=sample(100))))
    )
    assert items[-1] == "LOST core: 50.0% of the kept ratio, 20% may be lost"
    assert "kept 1, -50.0%" in items[0]
    assert "(new)" in items[1]


def test_keeping_a_part_leaves_the_rest_of_the_table(tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    write(table(core=sample(1), ledger=sample(2)), path)
    write(table(core=sample(3)), path)
    held = read(path)
    assert held is not None
    assert held.outcomes == {"core": sample(3), "ledger": sample(2)}


def test_the_command_fails_on_a_loss_and_keeps_when_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "kept.json")
    figures = iter([100.0] * 3 + [60.0, 70.0, 99.0] * 2)
    benchmarks = {"core": lambda: {"core": sample(next(figures))}}
    assert main(["--keep", "--table", path], benchmarks) == 0
    assert main(["--table", path], benchmarks) == 1
    assert "LOST core: 30.0%" in capsys.readouterr().out
    assert main(["--keep", "--table", path, "--only", "core"], benchmarks) == 0
    held = read(Path(path))
    assert held is not None
    assert held.outcomes["core"] == sample(70)


def test_what_cannot_be_measured_is_neither_kept_nor_passed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken() -> Mapping[str, Sample]:
        raise UnmeasuredError("no control plane")

    path = tmp_path / "kept.json"
    assert main(["--keep", "--table", str(path)], {"cluster": broken}) == 2
    assert "cluster: not measured: no control plane" in capsys.readouterr().err
    assert not path.exists()


def ratios(held: Table) -> Iterator[float]:
    return (outcome.ratio for outcome in held.outcomes.values())


def test_the_kept_table_can_be_compared_with() -> None:
    held = read()
    assert held is not None
    assert all(ratio > 0 for ratio in ratios(held))

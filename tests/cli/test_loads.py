"""Files of jobs: what is read of them, and in what words a bad one is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidegate.cli.loads.rows import read_csv, read_yaml
from tidegate.cli.loads.traces import GPU, QueueTemplate, read_sacct, read_swf
from tidegate.errors import SettingsError
from tidegate.replay.simulator.loads import Job

GIVEN = Path(__file__).parent / "given"
BEGIN, SECOND = 1_767_225_600_000_000, 1_000_000
ANYWHERE = QueueTemplate("a/main")


def test_csv_and_yaml_tell_the_same_jobs() -> None:
    rows = list(read_csv(GIVEN / "jobs.csv", BEGIN))
    assert rows == list(read_yaml(GIVEN / "jobs.yaml", BEGIN))
    assert [row.name for row in rows] == ["train", "sweep-1", "sweep-2", "sweep-3", "urgent"]
    assert rows[2].at_us == BEGIN + 15 * 60 * SECOND
    assert rows[4].requests == {"cpu": "2"}


def test_a_trace_gives_a_pod_of_one_core_for_each_processor() -> None:
    first, second, last = read_swf(GIVEN / "trace.swf", BEGIN, QueueTemplate("{user}/q{queue}"))
    assert (first.count, first.requests, first.run_us) == (8, {"cpu": "1"}, 3_600 * SECOND)
    assert (second.count, second.namespace, second.queue) == (4, "4", "q1")
    assert (last.name, last.at_us) == ("job-4", BEGIN + 1_200 * SECOND)


def test_sacct_gives_a_pod_a_node_if_it_can_be_divided_so() -> None:
    even, odd = read_sacct(GIVEN / "sacct.txt", QueueTemplate("{account}/{partition}"))
    assert (even.count, even.requests) == (2, {"cpu": "4", "memory": str(8 << 30)})
    assert (odd.count, odd.requests) == (1, {"cpu": "3", "memory": str(6 << 30)})
    assert (even.namespace, even.queue, even.author) == ("a", "batch", "ann")


def test_sacct_gpus_and_clock_are_read(tmp_path: Path) -> None:
    [job] = sacct(
        tmp_path,
        "JobID|Submit|Elapsed|AllocTRES",
        "7|2026-03-02T08:00:00|1-02:03:04|cpu=16,gres/gpu=4,mem=512,node=1",
    )
    assert job.run_us == 93_784 * SECOND
    assert job.requests == {"cpu": "16", GPU: "4", "memory": str(512 << 20)}


def sacct(folder: Path, *lines: str) -> list[Job]:
    file = folder / "sacct.txt"
    file.write_text("\n".join(lines))
    return list(read_sacct(file, ANYWHERE))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: x", "must be a list of jobs"),
        ("[x", "is not YAML"),
        ("- x", "job 1: a mapping was expected"),
        ("- {name: x}", "job 1: name and queue must be given"),
        ("- {name: x, queue: q, colour: red}", "unknown fields colour"),
        ("- {name: x, queue: q, 1: red}", "unknown fields 1"),
        ("- {name: x, queue: {q: 1}}", "queue must be one text or number"),
        ("- {name: x, queue: q, run: soon}", "run 'soon' is not a duration"),
        ("- {name: x, queue: q, at: later}", "at 'later' is neither"),
        ("- {name: x, queue: q, count: many}", "count 'many' is not a whole number"),
        ("- {name: x, queue: q, count: 0}", "count must be at least 1"),
        ("- {name: x, queue: q, repeat: 0}", "repeat must be from 1"),
        ("- {name: x, queue: q, requests: {cpu: much}}", "cpu: "),
        ("- {name: x, queue: q, requests: [cpu]}", "requests must map"),
        ("- {name: x, queue: q, requests: {cpu: -1}}", "cpu: '-1' is less than nothing"),
    ],
)
def test_a_bad_row_of_yaml_is_named(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "jobs.yaml"
    file.write_text(text)
    with pytest.raises(SettingsError) as raised:
        list(read_yaml(file, BEGIN))
    assert str(file) in str(raised.value)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name,cpu\nx,1", "must name the columns name and queue"),
        ("name,queue\nx,q,1", "line 2: it has more columns"),
        ("name,queue,run\nx,q,\ny,q,soon", "line 3: run 'soon'"),
    ],
)
def test_a_bad_line_of_csv_is_named(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "jobs.csv"
    file.write_text(text)
    with pytest.raises(SettingsError) as raised:
        list(read_csv(file, BEGIN))
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [("1 2 3", "3 fields, 18 were expected"), ("x" + " 1" * 17, "line 1: could not convert")],
)
def test_a_bad_line_of_a_trace_is_named(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "trace.swf"
    file.write_text(text)
    with pytest.raises(SettingsError) as raised:
        list(read_swf(file, BEGIN, ANYWHERE))
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        (("JobID|Submit",), "no column ElapsedRaw or Elapsed"),
        (("JobID|Submit|Elapsed|ReqTRES", "1|2026-03-02|soon|cpu=1"), "says how long it ran"),
        (("JobID|Submit|ElapsedRaw|ReqTRES", "1|then|5|cpu=1"), "Submit 'then' is not a time"),
        (("JobID|Submit|ElapsedRaw|ReqTRES", "1|2026-03-02|5|mem=x"), "mem=x is not an amount"),
    ],
)
def test_a_bad_line_of_sacct_is_named(tmp_path: Path, lines: tuple[str, ...], text: str) -> None:
    with pytest.raises(SettingsError) as raised:
        sacct(tmp_path, *lines)
    assert text in str(raised.value)


def test_a_place_needs_both_parts() -> None:
    with pytest.raises(SettingsError, match="write NAMESPACE/LOCALQUEUE"):
        list(read_sacct(GIVEN / "sacct.txt", QueueTemplate("main")))

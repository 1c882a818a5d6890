"""Where commands find a ledger, that they only read it, and that a bad one is reported in words."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from store.access.engine import open_engine
from store.schema.retention import expire_reports
from tests.cli.conftest import SHELLS, Tidegate
from tests.parts.sample import ENTRIES, TURNS, append, filled
from tidegate.cli.instance import (
    Instance,
    forget_instance,
    is_running,
    read_instance,
    write_instance,
)
from tidegate.contracts.chain import seal
from tidegate.contracts.codec import decode
from tidegate.contracts.fact_kinds.strays import StrayCleared, StrayReported
from tidegate.contracts.facts import FactEvent, WorkloadRemoved, WorkloadSubmitted
from tidegate.contracts.observations import JobState

READINGS = (
    ["show", "queues", "-o", "wide"],
    ["show", "pending", "-o", "json"],
    ["show", "usage", "-o", "json"],
    ["why", "job/sweep", "-o", "wide"],
    ["events", "--since", "1", "-o", "json"],
    ["report", "usage_hourly", "-o", "json"],
    ["report", "preemptions"],
    ["report", "waits"],
)
DEADLINE_S = 60
SWEEP_SEQ = 35  # where the sample's job/sweep is submitted
REPLAYS = (
    ["replay", "--verify", "-o", "name"],
    ["show", "workloads", "--all", "--as-of", "2026-03-02T08:50:00Z"],
    ["why-not", "job/sweep", "--as-of", "57"],
    ["why-not", "job/huge"],
    [
        "what-if",
        "config",
        "--set",
        "cq/team-b.cpu=12",
        "--set",
        "cq/team-b.memory=24Gi",
    ],
    ["what-if", "submit", "tests/cli/given/job.yaml"],
)
"""Readings that fold the history, and decide again."""


def test_without_any_ledger_the_answer_says_how_to_name_one(
    tidegate: Tidegate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TIDEGATE_LEDGER")
    result = tidegate("show", "queues")
    assert result.exit_code == 3
    assert "--ledger" in result.stderr
    assert "tidegate up" in result.stderr


def test_the_running_instances_ledger_is_read(
    tidegate: Tidegate, sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TIDEGATE_LEDGER")
    write_instance(Instance(ledger=f"sqlite:///{sample}"))
    assert tidegate("show", "queues", "-o", "name").stdout == "team-a\nteam-b\n"
    forget_instance()
    assert tidegate("show", "queues").exit_code == 3


def test_an_instance_is_remembered_as_it_was_written(tidegate: Tidegate, tmp_path: Path) -> None:
    assert read_instance() is None
    instance = Instance(ledger="sqlite:///x.db", nats_url="nats://127.0.0.1:4222", pid=os.getpid())
    assert write_instance(instance) == tmp_path / "state" / "instance.json"
    assert read_instance() == instance
    assert is_running(instance)
    assert not is_running(Instance(ledger=""))
    (tmp_path / "state" / "instance.json").write_text("{")
    result = tidegate("show", "usage", "--ledger", "")
    assert (result.exit_code, "instance.json" in result.stderr) == (1, True)


@pytest.mark.parametrize("arguments", [*READINGS, *REPLAYS], ids=" ".join)
def test_reading_changes_no_byte(tidegate: Tidegate, sample: Path, arguments: list[str]) -> None:
    before = sample.read_bytes()
    assert tidegate(*arguments).exit_code == 0
    assert sample.read_bytes() == before


@pytest.mark.parametrize(
    "change",
    [
        "payload = payload || ' '",
        "type = 'X'",
        "subject = subject || '.x'",
        "cluster = ''",
        "at_us = at_us + 1",
        "turn = turn - 1",
        "epoch = epoch + 1",
        "hash = zeroblob(32)",
    ],
)
def test_an_altered_ledger_does_not_verify(
    tidegate: Tidegate, sample: Path, tmp_path: Path, change: str
) -> None:
    altered = tmp_path / "altered.db"
    shutil.copy(sample, altered)
    with closing(sqlite3.connect(altered)) as conn, conn:
        conn.execute(f"UPDATE ledger_event SET {change} WHERE seq = 20")  # noqa: S608
    result = tidegate("ledger", "verify", "--ledger", str(altered))
    assert result.exit_code == 1
    assert "seq 20" in result.stderr


def test_a_sample_is_the_same_each_time_and_never_overwrites(
    tidegate: Tidegate, sample: Path, tmp_path: Path
) -> None:
    again = tmp_path / "again.db"
    assert tidegate("ledger", "sample", str(again)).exit_code == 0
    heads = [
        tidegate("ledger", "info", "-o", "name", "--ledger", str(file)).stdout
        for file in (sample, again)
    ]
    assert heads[0] == heads[1]
    assert tidegate("ledger", "sample", str(again)).exit_code == 2


@pytest.mark.real
@pytest.mark.parametrize("arguments", [*READINGS, *REPLAYS], ids=" ".join)
def test_on_postgresql_the_answers_are_the_same(
    tidegate: Tidegate, remote: str, arguments: list[str]
) -> None:
    there = tidegate(*arguments, "--ledger", remote)
    assert there.stdout == tidegate(*arguments).stdout != ""
    assert there.exit_code == 0


@pytest.mark.parametrize("shell", SHELLS)
def test_following_tells_what_is_written_until_ctrl_c(tmp_path: Path, shell: str) -> None:
    growing = str(tmp_path / "growing.db")
    follow = [sys.executable, "-m", "tidegate.cli.main", "events", "--follow", "-o", "name"]
    command = [*SHELLS[shell], *follow]
    with (
        filled(growing, TURNS[:1]) as ledger,
        subprocess.Popen(
            [*command, "--ledger", growing], stdout=subprocess.PIPE, text=True
        ) as process,
    ):
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in TURNS[0]] == ["1\n", "2\n"]
        for entries in TURNS[1:4]:
            append(ledger, entries)
        expected = [f"{entry.seq}\n" for entries in TURNS[1:4] for entry in entries]
        assert [process.stdout.readline() for _ in expected] == expected
        process.send_signal(signal.SIGINT)
        assert process.wait(DEADLINE_S) == 0


def test_a_story_outlasts_its_rows_in_the_reports(tidegate: Tidegate, tmp_path: Path) -> None:
    file = str(tmp_path / "ledger.db")
    with filled(f"sqlite:///{file}", TURNS):
        pass
    stories = [("why", name, "--ledger", file) for name in ("job/sweep", "job/urgent", "job/huge")]
    before = [tidegate(*words).stdout for words in stories]
    with closing(sqlite3.connect(file)) as conn, conn:
        conn.execute("UPDATE report_workload SET removed_us = submitted_us")
    engine = open_engine(f"sqlite:///{file}")
    assert expire_reports(engine, 2**60)["report_workload"] >= len(stories)
    engine.dispose()
    assert all(before)
    assert [tidegate(*words).stdout for words in stories] == before
    assert tidegate("why", "job/nosuch", "--ledger", file).exit_code == 1


def resubmitted(job: WorkloadSubmitted) -> list[FactEvent]:
    """Return that a workload is gone, that its job runs, and that it does no more."""
    at_us, key, uid = ENTRIES[-1].at_us, job.workload, job.uid
    stray = StrayReported(
        at_us=at_us,
        workload=key,
        uid=uid,
        job=job.job,
        resource=job.resource,
        reason="Unreadable",
        state=JobState(suspended=False),
    )
    removed = WorkloadRemoved(at_us=at_us, workload=key, uid=uid)
    return [removed, stray, StrayCleared(at_us=at_us, workload=key, uid=uid)]


def test_a_job_that_ran_without_an_admission_is_reported_behind_its_removal(
    tidegate: Tidegate, tmp_path: Path
) -> None:
    file, head = str(tmp_path / "ledger.db"), ENTRIES[-1]
    job = decode(next(entry for entry in ENTRIES if entry.seq == SWEEP_SEQ).payload)
    assert isinstance(job, WorkloadSubmitted)
    with filled(f"sqlite:///{file}", TURNS) as ledger:
        for event in resubmitted(job):
            sealed = seal(head, 1, "local", [event])
            append(ledger, sealed)
            head = sealed[-1]
    story = tidegate("why", job.workload, "--ledger", file, "-o", "wide").stdout
    assert "must not run" in story
    assert "may run again, or is gone" in story

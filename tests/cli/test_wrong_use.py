"""What is written wrongly is answered by one sentence that says where, and by no traceback."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.conftest import Tidegate
from tidegate.errors import SettingsError
from tidegate.service.config.yaml_documents import parse_yaml

YEAR_S = 366 * 86_400
JOB = "{apiVersion: batch/v1, kind: Job, metadata: {name: x}"
DEEP = "[" * sys.getrecursionlimit() * 10
DOUBLED = "a0: &a0 {x: 1}\n" + "".join(
    f"a{depth}: &a{depth} {{x: *a{depth - 1}, y: *a{depth - 1}}}\n" for depth in range(1, 40)
)
MERGED = DOUBLED.replace("x: *", "<<: *").replace("y: *", "<<: *")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "FILE is not YAML, line 1, column 2: expected the node content,"),
        ("a: 1\nb: [", "FILE is not YAML, line 2, column 5: "),
        ("a: 2026-99-99", "FILE is not YAML: month must be in 1..12."),
        ("a: !!bool 7", "FILE is not YAML: a tag does not suit its value"),
        ("a: !!int ''", "FILE is not YAML: a tag does not suit its value"),
        ("a: !!timestamp x", "FILE is not YAML: a tag does not suit its value"),
        ("a: \0", "FILE is not YAML: unacceptable character #x0000"),
        (
            "a: &a {b: &b [*b]}",
            "FILE is not YAML, line 1, column 15: the alias b stands within its",
        ),
        (DOUBLED, "FILE is not YAML, line 14, column 24: aliases repeat more than 100000 values."),
        (MERGED, "FILE is not YAML, line 14, column 26: aliases repeat more than 100000 values."),
        (DEEP, "FILE cannot be read: its lists and objects are nested too deeply."),
    ],
)
def test_what_is_no_yaml_is_said_in_one_line(text: str, message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        parse_yaml(text, "FILE")
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text", ["{", DEEP, DOUBLED, "a: 2026-99-99", JOB + "}", JOB + ", spec: [1]}"]
)
@pytest.mark.parametrize(
    "command",
    ["what-if submit", "what-if config -f", "what-if load FILE", "notify --check --config"],
)
def test_a_file_that_cannot_be_read_is_named(
    tidegate: Tidegate, tmp_path: Path, command: str, text: str
) -> None:
    file = tmp_path / "file.yaml"
    file.write_text(text)
    result = tidegate(*command.replace("FILE", str(file)).split(), str(file))
    assert result.exit_code == 1, result.exception
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"error: {file}")


def test_a_job_that_asks_for_less_than_nothing_is_refused(
    tidegate: Tidegate, tmp_path: Path
) -> None:
    file = tmp_path / "job.yaml"
    pods = "{containers: [{name: c, image: x, resources: {requests: {cpu: -1}}}]}"
    file.write_text(f"{JOB}, spec: {{template: {{spec: {pods}}}}}}}")
    result = tidegate("what-if", "submit", str(file))
    expected = f"error: {file}, document 1: cpu: '-1' is less than nothing.\n"
    assert (result.exit_code, result.stderr) == (1, expected)


def test_a_replay_too_slow_to_end_sleeps_no_longer_than_a_clock_can(
    tidegate: Tidegate, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept = list[float]()
    monkeypatch.setattr(time, "sleep", slept.append)
    assert tidegate("replay", "--speed", "1e-300").exit_code == 0
    assert 0 < max(slept) <= YEAR_S


def test_a_sample_that_would_last_for_millennia_is_refused(
    tidegate: Tidegate, tmp_path: Path
) -> None:
    file = tmp_path / "long.db"
    result = tidegate("ledger", "sample", str(file), "--until", "9999-12-31T00:00:00Z")
    assert result.exit_code == 2
    assert "--until is at most 3653 days after the story's beginning" in " ".join(
        result.stderr.split()
    )
    assert not file.exists()


@pytest.mark.parametrize("text", [DEEP, "a: [", "a: 2026-99-99"])
def test_a_kubeconfig_that_cannot_be_read_is_one_line(
    tidegate: Tidegate, tmp_path: Path, text: str
) -> None:
    file = tmp_path / "kubeconfig"
    file.write_text(text)
    result = tidegate("stop", "clusterqueue/a", "--kubeconfig", str(file))
    assert result.exit_code == 2, result.exception
    (line,) = result.stderr.splitlines()
    assert line.startswith("error: No Kubernetes API server to talk to (")


@pytest.mark.parametrize(
    "command", ["ledger migrate", "ledger downgrade --to 0001", "reports rebuild", "reports expire"]
)
@pytest.mark.parametrize("name", ["history.jsonl", "history.jsonl.gz", "history.parquet"])
def test_no_command_writes_into_an_exported_archive(
    tidegate: Tidegate, tmp_path: Path, command: str, name: str
) -> None:
    file = tmp_path / name
    result = tidegate(*command.split(), "--ledger", str(file))
    assert result.exit_code == 3, result.exception
    assert f"`tidegate ledger backup FILE.db --ledger {file}` makes a ledger" in result.stderr
    assert not file.exists()


def test_without_an_older_revision_there_is_nothing_to_go_back_to(tidegate: Tidegate) -> None:
    result = tidegate("ledger", "downgrade", "--to", "0000")
    assert "There is no revision 0000 below 0001. There are none." in result.stderr


@pytest.mark.parametrize(
    "command",
    [
        "shadow --within nan",
        "shadow --within inf",
        "replay --speed nan",
        "drift --settle nan",
        "top --once --every nan",
        "notify --config x --give-up-s nan",
        "partitions move research --to 1 --timeout inf",
        "serve --rate nan",
        "report waits --limit 99999999999999999999",
        "report waits --since 9999-12-31T23:59:59-14:00",
        "reports expire --keep-months 99999999999",
        "statement close 9999-12 --queue team-a --key k --out out",
    ],
)
def test_what_is_no_number_or_beyond_all_bounds_is_refused(
    tidegate: Tidegate, command: str
) -> None:
    result = tidegate(*command.split())
    assert result.exit_code == 2, result.exception
    assert "Error: Invalid value" in result.stderr


def test_an_archive_has_no_info(tidegate: Tidegate, tmp_path: Path) -> None:
    archive = f"{tmp_path}/history.jsonl"
    assert tidegate("ledger", "export", archive).exit_code == 0
    result = tidegate("ledger", "info", "--ledger", archive)
    assert result.stderr.startswith(f"error: {archive} is an exported archive")


def in_shell(command: str, sample: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a line of a shell in which ``tidegate`` is the command line."""
    line = command.replace("tidegate", f"{sys.executable} -m tidegate.cli.main")
    environment = {**os.environ, "TIDEGATE_LEDGER": str(sample), **environment}
    return subprocess.run(
        ["/bin/sh", "-c", line], env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    "command", ["events", "why job/train -n a", "report waits -o csv", "manifests"]
)
def test_a_command_whose_streams_are_closed_writes_nowhere(sample: Path, command: str) -> None:
    assert in_shell(f"tidegate {command} >&- <&-", sample).stderr == ""
    assert in_shell(f"tidegate {command} >&- 2>&- <&-", sample).returncode == 0


@pytest.mark.parametrize("command", ["--help", "why --help", "show queues"])
def test_a_full_disk_is_said_in_one_line(sample: Path, command: str) -> None:
    result = in_shell(f"tidegate {command} > /dev/full", sample)
    assert (result.returncode, result.stderr) == (1, "error: No space left on device.\n")


def test_completion_that_cannot_be_installed_is_said_in_one_line(sample: Path) -> None:
    named = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1", "HOME": "/dev/null"}
    result = in_shell("tidegate --install-completion bash", sample, **named)
    assert (result.returncode, result.stderr) == (1, "error: /dev/null: File exists.\n")


def test_help_is_printed_where_text_is_ascii(sample: Path) -> None:
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    assert in_shell("tidegate --help", sample, **ascii_only).returncode == 0


@pytest.mark.parametrize("command", ["why", "why-not", "show priority"])
def test_a_name_of_bytes_that_are_no_text_is_refused(sample: Path, command: str) -> None:
    result = in_shell(f"tidegate {command} $(printf '\\377')", sample)
    expected = "error: '\\udcff' cannot be written as utf-8.\n"
    assert (result.returncode, result.stderr) == (2, expected)

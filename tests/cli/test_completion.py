"""Completion in a shell and under kubectl, and the command under kubectl's name."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tidegate.cli.kubectl_completion import answer_kubectl

RUN = "import sys; sys.argv[0] = 'tidegate'; from tidegate.cli.main import main; main()"


def offered(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *words: str
) -> list[str]:
    monkeypatch.setattr(sys, "argv", ["kubectl_complete-tidegate", *words])
    with pytest.raises(SystemExit):
        answer_kubectl()
    return capsys.readouterr().out.split()


def test_kubectl_is_told_what_may_follow(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert offered(capsys, monkeypatch, "show", "po") == ["positions", ":4"]
    assert offered(capsys, monkeypatch, "stop", "w") == ["workload", ":4"]
    options = offered(capsys, monkeypatch, "stop", "cq", "--keep")
    assert options == ["--keep-already-running", ":4"]


def test_an_empty_word_is_offered_every_command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = offered(capsys, monkeypatch, "")
    assert {"why", "show", "top", ":4"} <= set(found)
    assert "_TIDEGATE_COMPLETE" not in os.environ


def script() -> str:
    """Return what bash sources: what ``tidegate --show-completion bash`` is a name for."""
    told = {**os.environ, "_TIDEGATE_COMPLETE": "source_bash"}
    asked = [sys.executable, "-c", RUN]
    return subprocess.run(asked, env=told, capture_output=True, text=True, check=True).stdout


def test_bash_completes_with_the_script(tmp_path: Path) -> None:
    (tmp_path / "script").write_text(script())
    wrapper = tmp_path / "tidegate"
    wrapper.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{RUN}"\n')
    wrapper.chmod(0o755)
    asked = (
        f". {tmp_path}/script; COMP_WORDS=(tidegate show po); COMP_CWORD=2; "
        "_tidegate_completion tidegate; echo ${COMPREPLY[@]}"
    )
    told = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    result = subprocess.run(
        ["/bin/bash", "-c", asked], env=told, capture_output=True, text=True, check=True
    )
    assert result.stdout.split() == ["positions"]


def test_under_kubectl_the_help_says_kubectl() -> None:
    code = "import sys; sys.argv = ['/usr/bin/kubectl-tidegate', 'show', '--help']\n"
    code += "from tidegate.cli.main import main\nmain()"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert "Usage: kubectl tidegate show" in result.stdout

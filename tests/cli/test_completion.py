"""Completion in a shell and under kubectl, and the command under kubectl's name."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tidegate.cli.completion.words import complete_word as offered_words
from tidegate.cli.completion.words import reply_to_shell
from tidegate.cli.main import print_kubectl_completions
from tidegate.cli.reference import Page, is_group, listed_commands

RUN = "import sys; sys.argv[0] = 'tidegate'; from tidegate.cli.main import main; main()"


def offered(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *words: str
) -> list[str]:
    monkeypatch.setattr(sys, "argv", ["kubectl_complete-tidegate", *words])
    print_kubectl_completions()
    return capsys.readouterr().out.split()


def test_kubectl_completes_what_may_follow(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert offered(capsys, monkeypatch, "show", "po") == ["positions", ":4"]
    assert offered(capsys, monkeypatch, "stop", "w") == ["workload", ":4"]
    options = offered(capsys, monkeypatch, "stop", "cq", "--keep")
    assert options == ["--keep-already-running", ":4"]


def test_an_empty_word_is_offered_every_command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    names = offered(capsys, monkeypatch, "")
    assert {"why", "show", "top", ":4"} <= set(names)
    assert "_TIDEGATE_COMPLETE" not in os.environ


def script() -> str:
    """Return what bash sources: what ``tidegate --show-completion bash`` is a name for."""
    environment = {**os.environ, "_TIDEGATE_COMPLETE": "source_bash"}
    asked = [sys.executable, "-c", RUN]
    return subprocess.run(asked, env=environment, capture_output=True, text=True, check=True).stdout


def test_bash_completes_with_the_script(tmp_path: Path) -> None:
    (tmp_path / "script").write_text(script())
    wrapper = tmp_path / "tidegate"
    wrapper.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{RUN}"\n')
    wrapper.chmod(0o755)
    asked = (
        f". {tmp_path}/script; COMP_WORDS=(tidegate show po); COMP_CWORD=2; "
        "_tidegate_completion tidegate; echo ${COMPREPLY[@]}"
    )
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    result = subprocess.run(
        ["/bin/bash", "-c", asked], env=environment, capture_output=True, text=True, check=True
    )
    assert result.stdout.split() == ["positions"]


@pytest.mark.parametrize("page", listed_commands(), ids=lambda command: command.path)
def test_what_is_offered_is_what_the_command_itself_would_offer(page: Page) -> None:
    context = page.command.make_context(page.path, [], resilient_parsing=True)
    for begun in ("", "-", "--o") if is_group(page) else ("-", "--o"):
        own = {candidate.value for candidate in page.command.shell_complete(context, begun)}
        assert {word for word, _ in offered_words(page.path.split(), begun)} - {"-h"} == own - {
            "-h"
        }


def test_the_values_of_an_option_are_offered() -> None:
    words = [word for word, _ in offered_words(["why", "job/x", "-o"], "")]
    assert words == ["table", "wide", "json", "yaml", "name"]
    assert [word for word, _ in offered_words(["show", "nothing"], "")] == []
    given = [word for word, _ in offered_words(["why", "--output", "json"], "--o")]
    assert given == []


def test_zsh_and_fish_are_answered_in_their_forms() -> None:
    line = {"_TYPER_COMPLETE_ARGS": "tidegate show po"}
    zsh, fish = reply_to_shell("zsh", line).text, reply_to_shell("fish", line).text
    assert zsh.startswith('_arguments \'*: :(("positions":"')
    assert fish.startswith("positions\t")
    none = {"_TYPER_COMPLETE_ARGS": "tidegate nothing ", "_TYPER_COMPLETE_FISH_ACTION": "is-args"}
    assert (reply_to_shell("fish", none).exit_code, reply_to_shell("zsh", none).text) == (
        1,
        "_files\n",
    )


def test_under_kubectl_the_help_says_kubectl() -> None:
    code = "import sys; sys.argv = ['/usr/bin/kubectl-tidegate', 'show', '--help']\n"
    code += "from tidegate.cli.main import main\nmain()"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert "Usage: kubectl tidegate show" in result.stdout

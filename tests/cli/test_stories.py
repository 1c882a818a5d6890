"""Commands that read and change a cluster, one after the other, each story on its own cluster.

The form is that of ``test_cli_cases``. Ages are shown as AGE, and what differs each time as UID,
VERSION, TIME and SERVER.
"""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import pytest

from tests.cli.conftest import Tidegate
from tests.cli.stage import staged
from tests.cli.test_cli_cases import END, told

__all__ = ["staged"]

STORIES = sorted((Path(__file__).parent / "stories").glob("*.txt"))
HIDDEN = (
    (r"(?m)(?<= )\d+[smh]$", "AGE"),
    (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UID"),
    (r'(resourceVersion"?: ["\']?)\d+', r"\1VERSION"),
    (r"(?<=Timestamp)(\"?: [\"']?)[0-9T:-]+Z", r"\1TIME"),
    (r"http://127\.0\.0\.1:\d+", "SERVER"),
)


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_commands_on_a_cluster(
    tidegate: Tidegate, staged: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", staged)
    kept = path.read_text().removesuffix(END).split(END)
    played = list[str]()
    for case in kept:
        command = case.partition("\n----")[0].strip()
        answer = told(tidegate(*shlex.split(command)[1:]), Path("SAMPLE"))
        for pattern, shown in HIDDEN:
            answer = re.sub(pattern, shown, answer)
        played.append(f"{command}\n----\n{answer}")
    if os.environ.get("REWRITE"):
        path.write_text("".join(case + END for case in played))
        kept = played
    assert kept == played

"""Commands that read and change a cluster, one after the other, each story on its own cluster.

The form is that of ``test_cli_cases``. Two lines of kubectl's are played by the test itself:
``kubectl create -f FILE`` of ``given/``, and ``kubectl get PLURAL-PATH FIELD``. Ages are shown as
AGE, and what differs each time as UID, VERSION, TIME and SERVER.
"""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.conftest import Tidegate
from tests.cli.stage import put, staged
from tests.cli.test_cli_cases import END, printed
from tidegate.cli.objects.api_client import open_api

__all__ = ["staged"]

STORIES = sorted((Path(__file__).parent / "stories").glob("*.txt"))
HIDDEN = (
    (r"(?m)(?<= )\d+[smh]$", "AGE"),
    (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UID"),
    (r'(resourceVersion"?: ["\']?)\d+', r"\1VERSION"),
    (r"(?<=Timestamp)(\"?: [\"']?)[0-9T:-]+Z", r"\1TIME"),
    (r"http://127\.0\.0\.1:\d+", "SERVER"),
)


def kubectl(kubeconfig: str, verb: str, *words: str) -> str:
    """Create the objects of a file, or say what stands in a field of an object."""
    with open_api(kubeconfig) as api:
        if verb == "create":
            file = Path(__file__).parent / "given" / words[-1]
            for manifest in yaml.safe_load(file.read_text()):
                put(api, manifest, {})
            return ""
        path, field = words
        value: Any = api.request("GET", f"/apis/kueue.x-k8s.io/v1beta2/{path}")
        for name in field.split("."):
            value = value.get(name)
        return str(value)


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_commands_on_a_cluster(
    tidegate: Tidegate, staged: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", staged)
    kept = path.read_text().removesuffix(END).split(END)
    played = list[str]()
    for case in kept:
        command = case.partition("\n----")[0].strip()
        program, *words = shlex.split(command)
        if program == "kubectl":
            answer = kubectl(staged, *words)
        else:
            answer = printed(tidegate(*words), Path("SAMPLE"))
        for pattern, shown in HIDDEN:
            answer = re.sub(pattern, shown, answer)
        played.append(f"{command}\n----\n{answer}")
    if os.environ.get("REWRITE"):
        path.write_text("".join(case + END for case in played))
        kept = played
    assert kept == played

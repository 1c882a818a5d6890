"""What a release is made of, as far as it can be tried without its machines."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.containerfile import read
from tests.deploy.tools import helm

ROOT = Path(__file__).parents[2]
WORKFLOWS = ROOT / ".github" / "workflows"
PINNED = r"[\w.-]+/[\w.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+"


def workflow(name: str) -> dict[str, Any]:
    return dict(yaml.safe_load((WORKFLOWS / name).read_text()))


def steps(name: str) -> list[dict[str, Any]]:
    return [step for job in workflow(name)["jobs"].values() for step in job["steps"]]


def test_a_tag_of_another_version_is_refused() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    command = [str(ROOT / ".github" / "version")]
    right = subprocess.run([*command, f"v{version}"], capture_output=True, text=True, check=False)
    assert (right.returncode, right.stdout) == (0, f"version={version}\n"), right.stderr
    wrong = subprocess.run([*command, "v9.9.9"], capture_output=True, text=True, check=False)
    assert (wrong.returncode, "the tag is v9.9.9" in wrong.stderr) == (1, True)


def test_every_image_of_the_containerfile_is_built_and_no_other() -> None:
    targets = workflow("release.yml")["jobs"]["images"]["strategy"]["matrix"]["target"]
    made = {
        stage
        for stage, actual_stage in read(ROOT / "deploy/Containerfile").items()
        if actual_stage.of("ENTRYPOINT")
    }
    assert set(targets) == made


def test_all_images_are_built_on_one_base_that_is_named_by_its_digest() -> None:
    jobs = workflow("release.yml")["jobs"]
    (build,) = [
        step["with"] for step in jobs["images"]["steps"] if "build-push" in step.get("uses", "")
    ]
    assert build["build-args"] == "BASE=${{ needs.base.outputs.image }}"
    assert {"test", "base"} <= set(jobs["images"]["needs"])
    (resolved,) = [step["run"] for step in jobs["base"]["steps"] if "run" in step]
    (default,) = re.findall(r"(?m)^ARG BASE=(\S+)$", (ROOT / "deploy/Containerfile").read_text())
    assert f"inspect {default} " in resolved
    assert "python@$digest" in resolved
    stages = read(ROOT / "deploy/Containerfile").values()
    assert {stage.parent for stage in stages if stage.name in {"build", "service"}} == {"${BASE}"}


@pytest.mark.parametrize("name", ["ci.yml", "release.yml"])
def test_a_workflow_may_do_nothing_but_read_unless_a_job_says_so(name: str) -> None:
    assert workflow(name)["permissions"] == {"contents": "read"}
    for step in steps(name):
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False


@pytest.mark.parametrize("name", ["ci.yml", "release.yml"])
def test_what_a_workflow_runs_of_ours_exists(name: str) -> None:
    text = " ".join(str(step.get("run", "")) for step in steps(name))
    for path in (".ci/packages", ".ci/run", ".ci/uv"):
        assert path in text
        assert (ROOT / path).exists()
    assert "${{" not in text, "what a run says must not be pasted into a shell"


def test_each_action_is_named_by_one_commit_and_its_version() -> None:
    uses = set[str]()
    for name in ("ci.yml", "release.yml"):
        lines = (WORKFLOWS / name).read_text().splitlines()
        uses |= {line.partition("uses: ")[2] for line in lines if "uses: " in line}
    assert len(uses) > 5
    assert [use for use in uses if not re.fullmatch(PINNED, use)] == []
    assert len({use.partition("@")[0] for use in uses}) == len(uses)


def test_the_bill_of_materials_names_what_is_locked(tmp_path: Path) -> None:
    uv = subprocess.run([ROOT / ".ci" / "uv"], check=True, capture_output=True, text=True)
    (line,) = [step["run"] for step in steps("release.yml") if "cyclonedx" in step.get("run", "")]
    words = line.replace('"$(.ci/uv)"', uv.stdout.strip()).replace("dist/", f"{tmp_path}/").split()
    subprocess.run([*words, "--offline", "--quiet"], cwd=ROOT, check=True, capture_output=True)
    document = json.loads((tmp_path / "sbom.cdx.json").read_text())
    named = {(component["name"], component.get("version")) for component in document["components"]}
    locked = tomllib.loads((ROOT / "uv.lock").read_text())["package"]
    assert named <= {(package["name"], package["version"]) for package in locked}
    assert {"nats-py", "sqlalchemy", "kubernetes", "psycopg"} <= {name for name, _ in named}


@pytest.mark.slow
@pytest.mark.timeout(1_200)
def test_the_chart_in_a_package_renders_what_the_folder_does(tmp_path: Path) -> None:
    def run(*words: str) -> str:
        return subprocess.run([helm(), *words], check=True, capture_output=True, text=True).stdout

    run("package", str(ROOT / "deploy" / "chart"), "--destination", str(tmp_path))
    (package,) = tmp_path.glob("tidegate-*.tgz")
    given = ("--kube-version", "1.36.3", "--set", "mode=production,maintenance.enabled=true")
    packed, lying = (
        run("template", "t", str(path), *given) for path in (package, ROOT / "deploy/chart")
    )
    assert packed == lying
    assert "kind: CronJob" in packed

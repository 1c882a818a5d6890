"""The next job kind takes four files: an invented one is added to a copy of the tree.

``next_kind.patch`` is that kind, as CONTRIBUTING.md says it is added. All else is made from it.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tidegate.kinds.policies.frameworks import FRAMEWORKS

ROOT = Path(__file__).parents[2]
PATCH = Path(__file__).parent / "next_kind.patch"
FILES_MAX = 4
NAME = "roads.example.com/caravan"
CONFIGURATION = f"""\
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
integrations: {{frameworks: [{NAME}]}}
"""
SENDING = (
    "tests/deploy/test_components.py",
    "-k",
    "test_dispatcher_and_worker_account_know_every_kind_that_can_be_sent",
)


def run(tree: Path, *command: str) -> str:
    """Return what a command writes, run in the copy."""
    done = subprocess.run(command, cwd=tree, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the tree with the kind in it, after ``make generate``."""
    copy = tmp_path_factory.mktemp("tree") / "tree"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".?*", "__pycache__", "site"))
    run(copy, "git", "apply", "-C1", "--recount", str(PATCH))
    run(copy, sys.executable, "-m", "tidegate.generate")
    return copy


def test_it_takes_no_more_files_than_the_recipe_says() -> None:
    touched = re.findall(r"^\+\+\+ b/(.+)$", PATCH.read_text(), re.MULTILINE)
    assert len(touched) == FILES_MAX
    row = re.search(
        r"\| \[a job kind\]\(#a-job-kind\) \| (\d+) ", ROOT.joinpath("CONTRIBUTING.md").read_text()
    )
    assert row is not None
    assert int(row[1]) == FILES_MAX


def test_it_fits_the_code() -> None:
    run(ROOT, "git", "apply", "--check", "-C1", "--recount", str(PATCH))


def test_its_modules_import_what_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run them in this tree, where only the row of the kind's framework is missing."""
    monkeypatch.setattr("tidegate.kinds.policies.frameworks.framework", lambda _: FRAMEWORKS[0])
    modules = re.findall(
        r"^\+\+\+ b/\S+\.py\n@@ -0,0 .*\n((?:\+.*\n)+)", PATCH.read_text(), re.MULTILINE
    )
    assert len(modules) == len(("its kind", "its part in the end-to-end tests"))
    for module in modules:
        names: dict[str, object] = {"__name__": "next_kind"}
        exec(re.sub(r"^\+", "", module, flags=re.MULTILINE), names)  # noqa: S102 - of this folder
        assert names.keys() & {"KIND", "ACTS"}


@pytest.mark.slow
def test_its_policies_and_rights_follow_from_its_row(tree: Path, tmp_path: Path) -> None:
    config = tmp_path / "kueue.yaml"
    config.write_text(CONFIGURATION)
    program = "from tidegate.cli.main import main; main()"
    text = run(tree, sys.executable, "-c", program, "manifests", "--config", str(config))
    made = [document for document in yaml.safe_load_all(text) if document]
    names = {(obj["kind"], obj["metadata"]["name"]) for obj in made}
    suspends = "tidegate-suspend-roads-example-com-caravan"
    assert ("MutatingAdmissionPolicy", suspends) in names
    assert "roads.example.com/guide" in str(made)
    rights = {
        f"{resource} {verb}"
        for obj in made
        if obj["kind"] == "ClusterRole" and obj["metadata"]["name"].startswith("tidegate-")
        for rule in obj["rules"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    assert {"caravans watch", "caravans patch", "caravans/finalizers update"} <= rights


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("docs/kinds.md", f"| `{NAME}` (Caravan v1) | `spec.halted` | `camels`: `spec.camels` |"),
        ("deploy/rbac/people.yaml", "kueue-caravan-editor-role"),
        ("deploy/rbac/unqueued.yaml", "- caravans"),
        ("deploy/policies/disabled-kinds.yaml", "- caravans"),
        (
            "deploy/policies/keep-children.yaml",
            "made, and its spec changed, only by the controller of Caravan,",
        ),
        ("deploy/install.yaml", "- caravans"),
    ],
)
def test_what_is_made_names_it(tree: Path, file: str, text: str) -> None:
    assert text in (tree / file).read_text()


@pytest.mark.slow
def test_the_tests_of_all_kinds_find_it_and_pass(tree: Path) -> None:
    """All that have cases by kind; of what may not be read a kind needs none."""
    tests = ("tests/jobs/test_registry.py", "tests/jobs/test_cases.py")
    text = run(tree, sys.executable, "-m", "pytest", "-v", "-n", "0", *tests)
    passed = re.findall(r"::(\w+)\[(.+)\] PASSED", text)
    of_the_kind = {name for name, case in passed if "caravan" in case}
    without_it = {name for name, _ in passed} - of_the_kind
    assert without_it == {"test_an_object_that_may_not_be_read_stands_as"}


@pytest.mark.slow
def test_a_kind_that_no_manager_sends_needs_no_right_of_the_dispatcher(tree: Path) -> None:
    text = run(tree, sys.executable, "-m", "pytest", "-q", "-n", "0", *SENDING)
    assert re.match(r"1 passed", text.splitlines()[-1])

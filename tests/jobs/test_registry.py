"""A kind is whole: a row in the table, rights and a policy, cases, a row in the documentation."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.kinds import ACTS
from tests.jobs.cases import CASES, DATA, MODULES
from tests.kinds.observed.cases import kinds
from tidegate import jobs
from tidegate.errors import NotSupportedError
from tidegate.jobs.registry import JOB_KINDS, SETS, job_kind, register_declared
from tidegate.kinds.policies.frameworks import NAMES
from tidegate.kinds.policies.templates.serving_kinds import SERVING
from tidegate.model.declaration import Declaration, DeclaredPodSet, Sign

SERVING_NAMES = tuple(kind.name for kind in SERVING)

DOCUMENTATION = Path(__file__).parents[2] / "docs" / "kinds.md"
OF_OTHERS = ("workload", "pod-group")
"""No policy of their own suspends these: their creator does, or the pods that they are of."""
OF_PODS = ("pod", *OF_OTHERS, *SETS)
"""Their end-to-end tests are their own."""
OBSERVED = {name: {field for case in cases for field in case.expected} for name, cases in kinds()}
"""What Kueue was seen to answer of each kind, which Tidegate's module is held to."""
MODULE_LINES_MAX = 200


@pytest.mark.parametrize("module", MODULES)
def test_each_module_of_a_kind_is_in_the_table_and_in_the_documentation(module: str) -> None:
    kind = MODULES[module]
    assert JOB_KINDS[kind.name] is kind
    assert f"| `{kind.name}`" in DOCUMENTATION.read_text()
    assert kind.name in (*NAMES, *SERVING_NAMES) or kind.name in OF_OTHERS


@pytest.mark.parametrize("name", NAMES)
def test_each_row_of_the_table_has_a_module(name: str) -> None:
    """Without it the policies suspend a kind's objects, and nothing ever starts one."""
    assert name in JOB_KINDS, f"{name}: no module of tidegate/jobs has it as its KIND"


OF_MEMBERS = [name for name in MODULES if MODULES[name].members is not None]
"""Kinds whose steps are those of several objects: their tests are modules of their own."""


@pytest.mark.parametrize("module", [name for name in MODULES if name not in OF_MEMBERS])
def test_each_kind_has_cases_of_all_it_is_asked_for(module: str) -> None:
    for asked, answer in {"observe": "podSets", "start": "run", "stop": "restore"}.items():
        own = any(name.startswith(f"{module}/{asked}") for name in CASES)
        assert own or answer in OBSERVED.get(MODULES[module].kind.lower(), ())


@pytest.mark.parametrize("module", [name for name in MODULES if MODULES[name].name not in OF_PODS])
def test_each_kind_that_a_field_suspends_has_an_act_and_bad_objects(module: str) -> None:
    assert [act.name for act in ACTS if act.framework == MODULES[module].name]
    assert DATA.get(module, {}).get("bad")


def test_a_declared_kind_does_not_take_the_place_of_one_that_is_built_in() -> None:
    declaration = Declaration(
        name="Job.v1.batch",
        suspend="spec.suspend",
        pod_sets=(DeclaredPodSet(template="spec.template"),),
        finished=(),
        active=Sign(path="status.active"),
    )
    with pytest.raises(NotSupportedError, match="built in"):
        register_declared((declaration,))


def test_an_unknown_kind_is_refused_with_what_there_is() -> None:
    with pytest.raises(NotSupportedError, match="batch/job"):
        job_kind("example.com/none")


def test_no_module_of_job_kinds_is_long() -> None:
    root = Path(jobs.__path__[0])
    lines = {path.name: path.read_text().count("\n") for path in root.rglob("*.py")}
    assert {name: count for name, count in lines.items() if count > MODULE_LINES_MAX} == {}

"""A feature gate is heeded, says what already is, or is refused by name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tidegate.errors import SettingsError
from tidegate.model.gates import GATES, HEEDED, REMOVED
from tidegate.service.config.gates import check_gates, has_effect, is_open

ROOT = Path(__file__).parents[2]
CODE = "".join(
    path.read_text()
    for room in ("tidegate", "scheduler", "ingest", "actuator", "dispatcher")
    for path in sorted((ROOT / room).rglob("*.py"))
    if path.name not in ("gates.py", "admissibility.py")  # where a reason is called as a gate
)


@pytest.mark.parametrize("name", sorted(GATES))
def test_a_gate_is_called_heeded_if_the_code_asks_for_it(name: str) -> None:
    assert (f'"{name}"' in CODE) == (name in HEEDED)


@pytest.mark.parametrize("name", sorted(HEEDED))
def test_a_heeded_gate_counts_where_it_differs_from_its_default(name: str) -> None:
    others = REPLACING if name in REPLACING else {}
    assert check_gates({name: GATES[name]}) == {}
    assert check_gates({**others, name: not GATES[name]}) == {**others, name: not GATES[name]}


REPLACING = dict.fromkeys(
    (
        "TASFailedNodeReplacement",
        "TASFailedNodeReplacementFailFast",
        "TASReplaceNodeOnPodTermination",
    ),
    False,
)
"""Those that are closed together."""


@pytest.mark.parametrize(
    ("gates", "why"),
    [
        (
            {"TASFailedNodeReplacement": False, "TASReplaceNodeOnPodTermination": False},
            "TASFailedNodeReplacementFailFast needs TASFailedNodeReplacement",
        ),
        (
            {"TASFailedNodeReplacement": False, "TASFailedNodeReplacementFailFast": False},
            "TASReplaceNodeOnPodTermination needs TASFailedNodeReplacement",
        ),
        (
            {
                "ElasticJobsViaWorkloadSlicesWithTAS": True,
                "ElasticJobsViaWorkloadSlices": False,
            },
            "WithTAS needs ElasticJobsViaWorkloadSlices",
        ),
    ],
)
def test_an_open_gate_needs_others_as_in_kueue(gates: dict[str, bool], why: str) -> None:
    with pytest.raises(SettingsError, match=why):
        check_gates(gates)


@pytest.mark.parametrize("name", ["TASCacheTopologyTree", "KueueDRAIntegrationExtendedResource"])
def test_what_is_not_built_may_be_closed(name: str) -> None:
    assert check_gates({name: False}) == {}


OF_KUEUE = [
    tuple(line.split())
    for line in (Path(__file__).parent / "kueue_gates.txt").read_text().splitlines()
]
"""Each gate of Kueue 0.19.1: its name, its default, its stage, and whether it is locked."""
CLOSED_IN_KUEUE = {
    "MultiKueueKubeConfigPathValidation",
    "RecomputeAssignmentUponPreemptionTargetsOverlap",
    "UnadmittedWorkloadsObservability",
    "WorkloadPriorityClassDefaulting",
}
"""Gates that Kueue opens in 0.20: the page has a row for each."""


@pytest.mark.parametrize("row", OF_KUEUE, ids=lambda row: row[0])
def test_each_gate_of_kueue_has_its_default(row: tuple[str, ...]) -> None:
    name, default, _, *locked = row
    value = default == "true"
    assert {**GATES, **REMOVED}[name] is (value or name in CLOSED_IN_KUEUE)
    if locked:
        assert is_accepted(name, value=value)
        assert not is_accepted(name, value=not value)


def test_the_page_says_which_defaults_differ() -> None:
    text = (ROOT / "docs" / "migrating-from-kueue.md").read_text()
    assert set(re.findall(r"^\| `([A-Z]\w+)` \|", text, re.MULTILINE)) == CLOSED_IN_KUEUE


def test_a_gate_is_open_as_the_file_says_or_by_default() -> None:
    assert is_open({}, "QuotaCheckStrategy")
    assert not is_open({"QuotaCheckStrategy": False}, "QuotaCheckStrategy")


@pytest.mark.parametrize("name", sorted(REMOVED))
def test_a_removed_gate_may_say_what_holds_since(name: str) -> None:
    assert name not in GATES
    assert check_gates({name: REMOVED[name]}) == {}


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        (
            "SchedulerLibraryIntegration",
            True,
            "SchedulerLibraryIntegration cannot be true .* not built",
        ),
        ("FlavorFungibility", False, "cannot be false .* cannot be left out. Remove it"),
        ("TopologyAwareScheduling", False, "cannot be left out"),
        ("TASMultiLayerTopology", False, "cannot be left out"),
        ("AdmissionGatedBy", False, "cannot be left out"),
        ("TASReplaceNodeOnPodTermination", False, "unless TASFailedNodeReplacement is, too"),
        ("MultiKueueRemoteSpecSync", False, "cannot be left out"),
        ("MultiKueueKubeConfigPathValidation", False, "cannot be left out"),
        ("LWSImmutableGroupSize", False, "cannot be left out"),
        ("Foo", True, "no gate Foo"),
        ("AllAlpha", True, "AllAlpha is not supported: name each gate"),
        ("AllBeta", False, "AllBeta is not supported: name each gate"),
        ("HierarchicalCohorts", False, "was removed from Kueue"),
        ("SchedulerLongRequeueInterval", True, "was removed from Kueue"),
    ],
)
def test_a_value_that_a_gate_cannot_have_is_refused(name: str, value: bool, why: str) -> None:  # noqa: FBT001 - an example
    with pytest.raises(SettingsError, match=why):
        check_gates({name: value})


def rows() -> dict[str, str]:
    """Return what the page says of each gate."""
    text = (ROOT / "docs" / "migrating-from-kueue.md").read_text()
    table = re.findall(r"^\| ((?:true|false)[^|]*) \| ([^|]*) \|$", text, re.MULTILINE)
    return {gate.strip("`"): values for values, gates in table for gate in gates.split(", ")}


def is_accepted(name: str, *, value: bool) -> bool:
    try:
        has_effect(name, on=value)
    except SettingsError:
        return False
    return True


@pytest.mark.parametrize("name", sorted({**GATES, **REMOVED}))
def test_the_page_says_which_values_of_a_gate_are_accepted(name: str) -> None:
    words = [str(value).lower() for value in (True, False) if is_accepted(name, value=value)]
    assert rows()[name].startswith(" and ".join(words) + (" only" if len(words) == 1 else ","))


@pytest.mark.parametrize("name", sorted(GATES))
def test_the_page_says_which_gates_have_an_effect(name: str) -> None:
    assert ("Kueue's effect" in rows()[name]) == (name in HEEDED)


def test_the_page_names_no_other_gate() -> None:
    assert rows().keys() == {**GATES, **REMOVED}.keys()

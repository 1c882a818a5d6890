"""A feature gate is heeded, says what already is, or is refused by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidegate.errors import SettingsError
from tidegate.model.gates import GATES, HEEDED
from tidegate.service.config.gates import check_gates

ROOT = Path(__file__).parents[2]
CODE = "".join(
    path.read_text()
    for room in ("tidegate", "scheduler", "ingest", "actuator", "dispatcher")
    for path in sorted((ROOT / room).rglob("*.py"))
    if path.name != "gates.py"
)


@pytest.mark.parametrize("name", sorted(GATES))
def test_a_gate_is_called_heeded_if_the_code_asks_for_it(name: str) -> None:
    assert (f'"{name}"' in CODE) == (name in HEEDED)


@pytest.mark.parametrize("name", sorted(HEEDED))
def test_a_heeded_gate_counts_where_it_differs_from_its_default(name: str) -> None:
    assert check_gates({name: GATES[name]}) == {}
    assert check_gates({name: not GATES[name]}) == {name: not GATES[name]}


@pytest.mark.parametrize("name", ["TASCacheTopologyTree", "MultiKueueRemoteSpecSync"])
def test_what_is_not_built_may_be_closed(name: str) -> None:
    assert check_gates({name: False}) == {}


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        (
            "SchedulerLibraryIntegration",
            True,
            "SchedulerLibraryIntegration cannot be true .* not built",
        ),
        ("FlavorFungibility", False, "FlavorFungibility cannot be false .* cannot be left out"),
        ("TopologyAwareScheduling", False, "cannot be left out"),
        ("TASMultiLayerTopology", False, "cannot be left out"),
        ("Foo", True, "no gate Foo"),
    ],
)
def test_a_gate_without_effect_is_refused(name: str, value: bool, why: str) -> None:  # noqa: FBT001 - an example
    with pytest.raises(SettingsError, match=why):
        check_gates({name: value})

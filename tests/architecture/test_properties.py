"""Property tests draw the same in every run of CI: what a night finds is kept as an example."""

from __future__ import annotations

from pathlib import Path

from tests.architecture.syntax import outline

TESTS = Path(__file__).parents[1]


def test_every_property_says_how_much_it_draws() -> None:
    properties = {
        f"{path.name}: {function.name}": function.decorators
        for path in TESTS.rglob("test_*.py")
        for function in outline(path).functions
        if "given" in function.decorators
    }
    assert len(properties) > 20
    assert [name for name, names in properties.items() if "drawn" not in names] == []

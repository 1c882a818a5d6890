"""Job kinds as data: an object and what is observed of it, an order and the step it asks for.

See ``tests.jobs.cases``.
"""

from __future__ import annotations

import msgspec
import pytest

from tests.jobs.cases import CASES, case, kind_of, plain, start_of, stop_of
from tidegate.errors import TidegateError
from tidegate.jobs.kind import Step
from tidegate.kinds.decode import decode_object, read
from tidegate.kinds.meta import ObjectMeta


def as_document(step: Step) -> dict[str, object]:
    return {type(step).__name__: plain(step)}


@pytest.mark.parametrize("name", [name for name in CASES if "/observe" in name])
def test_an_object_is_observed_as(name: str) -> None:
    fields, kind = case(name), kind_of(name)
    seen = decode_object(msgspec.json.encode(fields["job"]), kind.object_type)
    if "error" in fields:
        with pytest.raises(TidegateError) as caught:
            kind.observe(seen)
        assert str(caught.value) == fields["error"]
    else:
        assert plain(kind.observe(seen)) == fields["observed"]


@pytest.mark.parametrize("name", [name for name in CASES if "/start" in name])
def test_a_start_asks_for(name: str) -> None:
    fields = case(name)
    assert as_document(kind_of(name).start(start_of(fields), fields["job"])) == fields["step"]


@pytest.mark.parametrize("name", [name for name in CASES if "/stop" in name])
def test_a_stop_asks_for(name: str) -> None:
    fields = case(name)
    asked = fields["stop"]
    step = kind_of(name).stop(
        stop_of(asked["seq"], asked.get("podsets", [])), fields["job"], asked.get("waited_s", 0.0)
    )
    assert as_document(step) == fields["step"]


@pytest.mark.parametrize("name", [name for name in CASES if "/stand" in name])
def test_an_object_that_may_not_be_read_stands_as(name: str) -> None:
    fields, kind = case(name), kind_of(name)
    meta = read(fields["job"]["metadata"], ObjectMeta)
    assert plain(kind.status_of(meta, fields["job"])) == fields["standing"]
    assert kind.terminal_phase(fields["job"]) == fields["ended"]

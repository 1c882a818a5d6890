"""Voyages: a kind that no module knows."""

from __future__ import annotations

from typing import Any

from tests.e2e.act import Act, has_condition
from tests.e2e.operators import count
from tests.parts.foreign import VOYAGES, declarations, foreign_crd, voyage

Object = dict[str, Any]


def voyage_children(parent: Object) -> list[tuple[str, Object]]:
    """Return a Job for the captain, and one for each crew, of a Voyage that is not anchored."""
    spec = parent["spec"]
    if spec.get("anchored"):
        return []
    name, crew = parent["metadata"]["name"], spec["crews"][0]
    hands = {"parallelism": crew["hands"], "completions": crew["hands"]}
    return [
        (f"{name}-captain", {"spec": {"template": spec["captain"]}}),
        (f"{name}-crew", {"spec": {**hands, "template": crew["sailor"]}}),
    ]


def voyage_status(parent: Object, jobs: list[Object]) -> Object:
    """Return how a Voyage goes: in numbers and words of its own."""
    del parent
    aboard = count(jobs, "active")
    home = len(jobs) == 2 and all(has_condition(job, "Complete") for job in jobs)
    fields = {"aboard": aboard, "sailing": count(jobs, "ready") == 2}
    return fields | ({"phase": "Home", "note": "all safe"} if home else {})


ACTS = (
    Act(
        namespace="life-voyage",
        framework="",
        declared=declarations()["voyage"],
        path=VOYAGES,
        make=lambda name, queue, seconds: voyage(name, queue, seconds=seconds),
        templates=lambda obj: [obj["spec"]["captain"], obj["spec"]["crews"][0]["sailor"]],
        finished=lambda obj: obj.get("status", {}).get("phase") == "Home",
        active=lambda obj: obj.get("status", {}).get("aboard") == 2,
        suspend="spec.anchored",
        crd=foreign_crd("voyage"),
        children=voyage_children,
        status=voyage_status,
    ),
)

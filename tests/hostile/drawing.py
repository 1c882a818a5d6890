"""Objects as a tenant might write them: of every job kind, with anything in any place.

The API server makes sure that names, uid and version are texts, that labels and annotations are
texts by texts, and that spec and status are objects. Nothing else is relied upon.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import msgspec
from hypothesis import strategies as st

from tests.e2e.kinds import ACTS
from tests.parts.foreign import pods_template
from tidegate.jobs import workload
from tidegate.jobs.declared import declared_kind
from tidegate.jobs.kind import JobKind
from tidegate.jobs.pods import pod, pod_group
from tidegate.jobs.registry import JOB_KINDS
from tidegate.kinds import names

Object = dict[str, Any]
Path = tuple[str | int, ...]
DIGITS = "9" * 5_000
ABSURD_TEXTS = (
    "",
    "\0",
    " ",
    ",",
    "/",
    "../../x",
    "-1",
    "0",
    "1",
    "007",
    "1e999999999",
    "1e-999999999",
    "9Ei",
    "-1Gi",
    "0.0000000001",
    "NaN",
    "Infinity",
    "true",
    "null",
    "{}",
    "[]",
    '{"podsets":',
    "[" * 3_000,
    "\u0661\u0662",
    "2026-13-45T99:99:99Z",
    "9999-12-31T23:59:59.999999999+23:59",
    DIGITS,
    f"ledger-1/{DIGITS}",
    "ledger-1/3",
    "a," * 5_000,
    "x" * 300_000,
)
TEXTS = st.sampled_from(ABSURD_TEXTS) | st.text(
    st.characters(exclude_categories=["Cs"]), max_size=12
)
LEAVES = (
    st.sampled_from((None, True, False, 0, -1, 1, 2**31, 2**63, 2**64, 10**300, 0.5, 1e308, -0.0))
    | TEXTS
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)
KEYS = tuple(
    value
    for name, value in sorted(vars(names).items())
    if name.isupper() and isinstance(value, str) and "/" in value
)
"""Every label and annotation that Tidegate reads."""
WRITTEN = st.dictionaries(st.sampled_from(KEYS), TEXTS, max_size=4)
OWNERS = st.lists(
    st.fixed_dictionaries(
        {
            "apiVersion": st.sampled_from(("batch/v1", "kueue.x-k8s.io/v1beta2", "/", "")) | TEXTS,
            "kind": st.sampled_from(("Job", "Workload", "RayJob")) | TEXTS,
            "name": TEXTS,
            "uid": st.sampled_from(("uid", "another")) | TEXTS,
        },
        optional={"controller": st.booleans(), "blockOwnerDeletion": st.booleans()},
    ),
    max_size=3,
)
MEMBER: Object = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"labels": {names.POD_GROUP_NAME: "group"}},
    "spec": {**pods_template()["spec"], "schedulingGates": [{"name": names.ADMISSION_GATE}]},
    "status": {"phase": "Pending"},
}
DIRECT: Object = {
    "apiVersion": names.API_VERSION,
    "kind": "Workload",
    "metadata": {},
    "spec": {"queueName": "main", "podSets": [{"name": "a", "count": 1, **pods_template()}]},
}
DIRECT["spec"]["podSets"][0] = {"name": "a", "count": 1, "template": pods_template()}


def kinds() -> dict[str, tuple[JobKind[Any], Object]]:
    """Return each job kind with an object of it that can be read."""
    fields: dict[str, tuple[JobKind[Any], Object]] = {}
    for act in ACTS:
        kind = JOB_KINDS.get(act.framework) if act.declared is None else declared_kind(act.declared)
        if kind is not None:
            fields[kind.name] = kind, act.make("train", "main", 1.0)
    fields[pod.KIND.name] = pod.KIND, MEMBER
    fields[pod_group.KIND.name] = pod_group.KIND, MEMBER
    fields[workload.KIND.name] = workload.KIND, DIRECT
    return fields


KINDS = kinds()


def places(result: Any, at: Path = ()) -> Iterator[Path]:  # noqa: ANN401 - any JSON
    """Yield every place in an object, itself first."""
    yield at
    parts: dict[Any, Any] = result if isinstance(result, dict) else {}
    if isinstance(result, list):
        parts = dict(enumerate(result))
    for key, value in parts.items():
        yield from places(value, (*at, key))


@functools.cache
def places_of(kind: str) -> tuple[Path, ...]:
    """Return the places in a kind's object that its owner decides on, and some more of a status."""
    obj = {key: value for key, value in KINDS[kind][1].items() if key in ("spec", "status")}
    obj.setdefault("status", {})
    inside = [("status", text) for text in ("conditions", "active", "phase", "startTime", "ready")]
    return (*(at for at in places(obj) if len(at) > 1), *inside)


def put(obj: Object, at: Path, value: Any) -> None:  # noqa: ANN401 - any JSON
    """Put a value into an object; nothing happens where the way there is not."""
    here: Any = obj
    for key in at[:-1]:
        if isinstance(here, dict):
            here = here.setdefault(key, {})
        elif isinstance(here, list) and isinstance(key, int) and key < len(here):
            here = here[key]
        else:
            return
    key = at[-1]
    if isinstance(here, dict) or (
        isinstance(here, list) and isinstance(key, int) and key < len(here)
    ):
        here[key] = value  # type: ignore[index]  # of a dict any


@st.composite
def objects(draw: st.DrawFn, kind: str) -> Object:
    """Draw an object of a kind with a few places altered."""
    obj: Object = msgspec.json.decode(msgspec.json.encode(KINDS[kind][1]))
    where = st.tuples(st.sampled_from(places_of(kind)), VALUES)
    for at, value in draw(st.lists(where, max_size=3)):
        put(obj, at, value)
    about = obj["metadata"]
    about |= {"namespace": "team", "name": "train", "uid": "uid", "resourceVersion": "7"}
    about |= {"creationTimestamp": "2026-01-01T00:00:00Z", "generation": 1}
    about["labels"] = {**about.get("labels", {}), names.QUEUE_NAME: "main", **draw(WRITTEN)}
    about["annotations"] = draw(WRITTEN)
    if owners := draw(OWNERS):
        about["ownerReferences"] = owners
    return obj

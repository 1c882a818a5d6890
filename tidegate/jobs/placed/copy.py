"""The copy of a placed job, made from its body: suspended, with its origin, and nothing of home's.

A body comes from another cluster and may be forged: other top-level fields are refused, and labels,
annotations, finalizers and gates of Tidegate or Kueue are removed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from tidegate.contracts.subjects import BODY_BYTES_MAX
from tidegate.errors import UndecodableError
from tidegate.jobs.batch import batch_job
from tidegate.jobs.batch.placing import without_controller_fields
from tidegate.jobs.kind import JobKind, Object
from tidegate.jobs.placed.body import SUSPEND, digest_of, is_reserved_name
from tidegate.jobs.templates.paths import object_at, value_at, with_value
from tidegate.kinds import names
from tidegate.kinds.decode import FAILURES

DEPTH_MAX = 64
"""Objects within objects: Kubernetes' own kinds stay below 30."""
_FIELDS = {"apiVersion", "kind", "metadata", "spec"}


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """The copy to create: its body, its name and its origin."""

    kind: JobKind[Any]
    namespace: str
    name: str
    digest: str
    origin: str


def copy_of(body: bytes, identity: Identity) -> Object:
    """Return the object to create.

    Raises:
        UndecodableError: the body is not that of the digest, or of another job or form.
    """
    job = _read(body, identity)
    obj: Object = {
        "apiVersion": identity.kind.api_version,
        "kind": identity.kind.kind,
        "metadata": _metadata(job, identity),
        "spec": without_reserved(object_at(job, ("spec",))),
    }
    assert identity.kind.managed_by is not None, "only kinds that others may run are placed"
    obj = with_value(obj, identity.kind.managed_by.path, None)
    obj = with_value(obj, SUSPEND, value=True)
    return without_controller_fields(obj) if identity.kind.name == batch_job.KIND.name else obj


def without_reserved(node: Any) -> Any:  # noqa: ANN401 - any JSON
    """Return JSON without labels, annotations, finalizers and gates that are ours or Kueue's."""
    match node:
        case dict():
            return {key: _without_reserved_in_field(key, value) for key, value in node.items()}
        case list():
            return [without_reserved(item) for item in node]
        case _:
            return node


def _without_reserved_in_field(key: str, value: Any) -> Any:  # noqa: ANN401 - any JSON
    value = without_reserved(value)
    match key, value:
        case "metadata", dict():
            return {
                field: _without_reserved_in_metadata(field, content)
                for field, content in value.items()
            }
        case "schedulingGates", list():
            return [gate for gate in value if not is_reserved_name(str(value_at(gate, ("name",))))]
        case _:
            return value


def _without_reserved_in_metadata(field: str, content: Any) -> Any:  # noqa: ANN401 - any JSON
    match field, content:
        case (("labels" | "annotations"), dict()):
            return {key: text for key, text in content.items() if not is_reserved_name(key)}
        case "finalizers", list():
            return [name for name in content if not is_reserved_name(str(name))]
        case _:
            return content


def _read(body: bytes, identity: Identity) -> Object:
    if len(body) > BODY_BYTES_MAX or digest_of(body) != identity.digest:
        raise UndecodableError("The body is not the one that was ordered.")
    try:
        job = msgspec.json.decode(body, type=dict[str, Any])
    except FAILURES as error:
        raise UndecodableError(f"The body is no object: {error}"[:1_024]) from error
    if _is_deeper(job, DEPTH_MAX):
        raise UndecodableError(f"The body has more than {DEPTH_MAX} objects within each other.")
    if others := sorted(job.keys() - _FIELDS):
        raise UndecodableError(f"The body has a field of its own: {others[0][:80]!r}.")
    named = (value_at(job, ("metadata", "namespace")), value_at(job, ("metadata", "name")))
    called = (job.get("apiVersion"), job.get("kind"))
    kind = identity.kind
    if (*called, *named) != (kind.api_version, kind.kind, identity.namespace, identity.name):
        raise UndecodableError("The body is that of another job.")
    return job


def _metadata(job: Object, identity: Identity) -> Object:
    labels = _texts(job, "labels")
    queue = labels.get(names.QUEUE_NAME, "")
    marks = {names.ORIGIN: identity.origin, names.ORIGIN_QUEUE: queue}
    annotations = {**_unreserved_texts(_texts(job, "annotations")), **marks}
    return {
        "namespace": identity.namespace,
        "name": identity.name,
        "labels": _unreserved_texts(labels),
        "annotations": annotations,
    }


def _unreserved_texts(texts: Mapping[str, str]) -> dict[str, str]:
    return {key: text for key, text in texts.items() if not is_reserved_name(key)}


def _texts(job: Object, field: str) -> dict[str, str]:
    texts = object_at(job, ("metadata", field))
    if not all(isinstance(text, str) for text in texts.values()):
        raise UndecodableError(f"metadata.{field}: not all of these are texts.")
    return texts


def _is_deeper(node: Any, depth: int) -> bool:  # noqa: ANN401 - any JSON
    """Tell whether JSON has more levels than so many, without a call for each."""
    level = [node]
    for _ in range(depth):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return False
    return True

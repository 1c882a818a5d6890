"""The fields of ``metadata`` that the server owns, and what clients may do to the rest."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random
from typing import Any
from uuid import UUID

from apiserver.refusals import Cause, immutable, invalid_value, not_allowed, required
from tidegate.kinds.times import rfc3339

Object = dict[str, Any]
FIELDS = frozenset(
    (
        "annotations",
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "finalizers",
        "generateName",
        "generation",
        "labels",
        "name",
        "namespace",
        "ownerReferences",
        "resourceVersion",
        "uid",
    )
)

_LETTERS = "bcdfghjklmnpqrstvwxz2456789"  # of generated names: no vowels, so no words
_SUFFIX_LENGTH, _GENERATED_LENGTH_MAX = 5, 63
_NAME_LENGTH_MAX = 253
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_PATH_SEGMENT = re.compile(r"(?!\.\.?$)[^/%]+")
_LABEL_NAME = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]")


def new_uid(random: Random) -> str:
    """Return a fresh uid."""
    return str(UUID(int=random.getrandbits(128), version=4))


def metadata_of(obj: Object) -> Object:
    """Return an object's metadata without fields that do not exist and without nulls."""
    metadata = obj.get("metadata") or {}
    return {key: value for key, value in metadata.items() if key in FIELDS and value is not None}


def generate_name(metadata: Object, random: Random) -> None:
    """Make a name of ``generateName`` where there is no name."""
    if not metadata.get("name") and metadata.get("generateName"):
        start = metadata["generateName"][: _GENERATED_LENGTH_MAX - _SUFFIX_LENGTH]
        metadata["name"] = start + "".join(random.choices(_LETTERS, k=_SUFFIX_LENGTH))


def set_server_fields(metadata: Object, random: Random, now_us: int) -> None:
    """Write what a created object has from the server, over whatever the client wrote."""
    for field in ("deletionTimestamp", "deletionGracePeriodSeconds", "generation"):
        metadata.pop(field, None)
    metadata["uid"] = new_uid(random)
    metadata["creationTimestamp"] = rfc3339(now_us)


def keep_server_fields(metadata: Object, old: Object) -> None:
    """Write what an updated object keeps, whatever the client wrote."""
    for field in (
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "generateName",
        "generation",
    ):
        metadata.pop(field, None)
        if field in old:
            metadata[field] = old[field]
    metadata.setdefault("uid", old["uid"])


def check(metadata: Object, *, path_name: bool) -> Iterator[Cause]:
    """Yield what is wrong with the metadata of a new or changed object.

    ``path_name`` is for the few kinds, such as RBAC's, with more characters allowed in names.
    """
    name = metadata.get("name")
    if not name:
        yield required("metadata.name", "name or generateName is required")
    elif not isinstance(name, str) or not (_PATH_SEGMENT if path_name else _SUBDOMAIN).fullmatch(
        name
    ):
        yield invalid_value(
            "metadata.name", name, "a lowercase RFC 1123 subdomain must consist of lower"
        )
    elif len(name) > _NAME_LENGTH_MAX:
        yield invalid_value("metadata.name", name, f"must be no more than {_NAME_LENGTH_MAX} bytes")
    yield from _check_keys(metadata)
    yield from _check_labels(metadata.get("labels") or {})
    for i, owner in enumerate(metadata.get("ownerReferences") or []):
        for field in ("apiVersion", "kind", "name", "uid"):
            if not owner.get(field):
                yield invalid_value(
                    f"metadata.ownerReferences[{i}].{field}", "", "must not be empty"
                )


def check_update(metadata: Object, old: Object) -> Iterator[Cause]:
    """Yield what a change does to metadata that it may not."""
    for field in ("name", "namespace", "uid"):
        if metadata.get(field) != old.get(field):
            yield immutable(f"metadata.{field}", metadata.get(field))
    added = sorted(set(metadata.get("finalizers") or []) - set(old.get("finalizers") or []))
    if added and "deletionTimestamp" in old:
        why = "no new finalizers can be added if the object is being deleted, found new finalizers"
        yield not_allowed("metadata.finalizers", f"{why} {added}")


def _check_keys(metadata: Object) -> Iterator[Cause]:
    for field in ("labels", "annotations"):
        for key in metadata.get(field) or ():
            prefix, slash, name = key.rpartition("/")
            if not _LABEL_NAME.fullmatch(name) or (slash and not _SUBDOMAIN.fullmatch(prefix)):
                why = "name part must consist of alphanumeric characters, '-', '_' or '.'"
                yield invalid_value(f"metadata.{field}", key, why)


def _check_labels(labels: Object) -> Iterator[Cause]:
    for value in labels.values():
        if value and not _LABEL_NAME.fullmatch(value):
            why = "a valid label must be an empty string or consist of alphanumeric characters"
            yield invalid_value("metadata.labels", value, why)

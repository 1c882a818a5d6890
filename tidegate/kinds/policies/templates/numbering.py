"""Pods whose indexes begin after those of another template, by the offset in their template.

A leader that is placed together with its workers is the first of them, so that the workers' own
index, which begins at 0, is off by one. Groups whose podsets are placed as one count otherwise.

Source: behaviour.md 12.5 and 16; the cases of ``tests.kinds`` of LeaderWorkerSet and MPIJob.
"""

from __future__ import annotations

import msgspec

from tidegate.kinds.names import POD_INDEX_OFFSET, PODSET_GROUP
from tidegate.kinds.policies.forms import Manifest, Scope, apply_patch, mutating_policy
from tidegate.kinds.policies.frameworks import TOPMOST, Framework
from tidegate.kinds.policies.jobs import QUEUED_JOBS, Managed
from tidegate.kinds.policies.templates.serving_kinds import optional_at


class Numbered(msgspec.Struct, frozen=True, kw_only=True):
    """Two templates of a kind that is suspended by a field, one behind the other."""

    path: str  # the template of the pods that come behind
    first: str  # where the one before them stands
    only_if: str  # the boolean field that counts both as one


NUMBERED = {
    "kubeflow.org/mpijob": Numbered(
        path="spec.mpiReplicaSpecs.Worker.template",
        first="spec.mpiReplicaSpecs.Launcher",
        only_if="spec.runLauncherAsWorker",
    )
}
"""By the name of the kind."""


def number_pods_policy(kind: Framework, managed: Managed = QUEUED_JOBS) -> list[Manifest]:
    """Return the policy that numbers a kind's pods when an object is made; none: it needs none."""
    numbered = NUMBERED.get(kind.name)
    if numbered is None:
        return []
    condition = f"{managed.condition} && {optional_at(numbered.only_if)}.orValue(false)"
    present = f"{optional_at(numbered.path)}.hasValue()"
    parents = [create_at(f"{numbered.path}.metadata{below}") for below in ("", ".annotations")]
    patches = " + ".join([*parents, number_from_one(numbered.path, numbered.first)])
    scope = Scope(
        targets=[kind.target("CREATE")], conditions=TOPMOST, namespaces=managed.namespaces
    )
    mutation = apply_patch(f"{condition} && {present} ? {patches} : []")
    return mutating_policy(f"number-{kind.slug}", scope, [mutation])


def number_from_one(path: str, first: str) -> str:
    """Return the JSONPatch list that numbers a template's pods from one, behind another's."""
    grouped = f"{optional_at(f'{path}.metadata')}.?annotations[?'{PODSET_GROUP}']"
    offset = set_in_template(path, "annotations", POD_INDEX_OFFSET, "'1'")
    return f"({optional_at(first)}.hasValue() && !{grouped}.hasValue() ? {offset} : [])"


def set_in_template(path: str, field: str, key: str, value: str) -> str:
    """Return the JSONPatch list that sets a template's label or annotation; none if it is so."""
    current = f"{optional_at(f'{path}.metadata')}.?{field}[?'{key}'].orValue('')"
    place = f"'/{path.replace('.', '/')}/metadata/{field}/' + jsonpatch.escapeKey('{key}')"
    return f"({current} == {value} ? [] : [JSONPatch{{op: 'add', path: {place}, value: {value}}}])"


def create_at(path: str) -> str:
    """Return the JSONPatch list that makes an object at a path where there is none."""
    place = f"/{path.replace('.', '/')}"
    create = f"JSONPatch{{op: 'add', path: '{place}', value: {{}}}}"
    return f"({optional_at(path)}.hasValue() ? [] : [{create}])"

"""Kinds that are queued through their pods, and what is put into their templates.

Source: behaviour.md 16; the cases of ``tests.kinds`` of these kinds.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tidegate.kinds.names import (
    MANAGED,
    POD_GROUP_SERVING,
    PRIORITY_CLASS,
    QUEUE_NAME,
    SUSPENDING_PARENT,
)
from tidegate.kinds.policies.forms import Target


class ServedTemplate(msgspec.Struct, frozen=True, kw_only=True):
    """One pod template of a kind, and what is put into it."""

    path: str  # e.g. "spec.template"
    copied: tuple[str, ...] = ()  # labels of the object that its pods bear as well
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    numbered_from_one: str = ""  # where the template of the pods before them stands

    @property
    def exists(self) -> str:
        """Return the expression of whether an object has the template."""
        return f"{optional_at(self.path)}.hasValue()"


class Serving(msgspec.Struct, frozen=True, kw_only=True):
    """A kind that is queued through its pods, by the name that Kueue's configuration gives it."""

    name: str
    group: str
    resource: str
    kind: str
    templates: tuple[ServedTemplate, ...]
    scales: bool = True  # to any number of replicas while it runs; else to zero and back
    stands_for_pods: bool = True  # its Workloads are its own; False: each pod has one

    @property
    def slug(self) -> str:
        """Return its name as part of a policy's name."""
        return self.name.replace("/", "-").replace(".", "-").lower()

    def target(self, *operations: str) -> Target:
        """Return the requests about this kind."""
        return Target(
            group=self.group, versions=("v1",), resources=(self.resource,), operations=operations
        )


LEADER_WORKER_SET = "leaderworkerset.x-k8s.io/leaderworkerset"
_LEADER = "spec.leaderWorkerTemplate.leaderTemplate"
_OF_GROUP = {POD_GROUP_SERVING: "true", SUSPENDING_PARENT: LEADER_WORKER_SET}
SERVING: tuple[Serving, ...] = (
    Serving(
        name="deployment",
        group="apps",
        resource="deployments",
        kind="Deployment",
        templates=(
            ServedTemplate(
                path="spec.template",
                copied=(QUEUE_NAME, PRIORITY_CLASS),
                labels={MANAGED: "true"},
                annotations={SUSPENDING_PARENT: "deployment"},
            ),
        ),
        stands_for_pods=False,
    ),
    Serving(
        name="statefulset",
        group="apps",
        resource="statefulsets",
        kind="StatefulSet",
        templates=(
            ServedTemplate(path="spec.template", annotations={SUSPENDING_PARENT: "statefulset"}),
        ),
        scales=False,
    ),
    Serving(
        name=LEADER_WORKER_SET,
        group="leaderworkerset.x-k8s.io",
        resource="leaderworkersets",
        kind="LeaderWorkerSet",
        templates=(
            ServedTemplate(
                path=_LEADER, copied=(QUEUE_NAME, PRIORITY_CLASS), annotations=_OF_GROUP
            ),
            ServedTemplate(
                path="spec.leaderWorkerTemplate.workerTemplate",
                copied=(QUEUE_NAME, PRIORITY_CLASS),
                annotations=_OF_GROUP,
                numbered_from_one=_LEADER,
            ),
        ),
    ),
)
"""Every kind that is queued through its pods."""


def serving(name: str) -> Serving:
    """Return the row of a kind, by its name; KeyError: there is none."""
    return {kind.name: kind for kind in SERVING}[name]


def serving_kinds_named(names: Sequence[str]) -> tuple[Serving, ...]:
    """Return the kinds of these names that are queued through their pods."""
    return tuple(kind for kind in SERVING if kind.name in names)


def optional_at(path: str, of: str = "object") -> str:
    """Return the expression of what stands at a path, if anything does."""
    return f"{of}.?{path.replace('.', '.?')}"

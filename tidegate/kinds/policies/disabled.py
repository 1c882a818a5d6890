"""Queued objects of job kinds that are not enabled: their creator gets a warning.

They run at once and no quota counts them. Kueue enables some of these kinds by default, so
its users may not expect it.
"""

from __future__ import annotations

import msgspec

from tidegate.kinds.names import QUEUE_NAME
from tidegate.kinds.policies.forms import Check, Manifest, Scope, Target, label, validating_policy
from tidegate.kinds.policies.frameworks import FRAMEWORKS
from tidegate.kinds.policies.templates.serving_kinds import SERVING
from tidegate.model.podset import LabelSelector

WARN, DENY = ("Warn", "Audit"), ("Deny",)
_MADE = ("CREATE", "UPDATE")
_WITHOUT_SUSPENSION = {
    **{kind.name: kind.target(*_MADE) for kind in SERVING},
    "pod": Target(group="", versions=("v1",), resources=("pods",), operations=_MADE),
}
"""Kinds of Kueue's that no field suspends, by its names for them."""
_SAID = (
    f"metadata.labels[{QUEUE_NAME}]: this kind is not enabled in integrations.frameworks, or not"
    " supported, so it is not queued: it runs at once, and no quota counts it"
)


def disabled_kinds(enabled: tuple[str, ...]) -> dict[str, Target]:
    """Return the requests about each kind that Kueue knows and that is not enabled, by its name."""
    suspended = {framework.name: framework.target(*_MADE) for framework in FRAMEWORKS}
    targets = {**suspended, **_WITHOUT_SUSPENSION}
    return {name: target for name, target in targets.items() if name not in enabled}


class QueuedKind(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of which Kueue makes Workloads."""

    group: str  # empty for core
    version: str
    resource: str
    kind: str

    @property
    def api_version(self) -> str:
        """Return how its objects name group and version."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def path(self) -> str:
        """Return the path of all of its objects."""
        return f"/{'apis' if self.group else 'api'}/{self.api_version}/{self.resource}"


def queued_kinds(enabled: tuple[str, ...]) -> tuple[QueuedKind, ...]:
    """Return each kind that Kueue knows and that is not enabled."""
    kinds = {framework.name: framework.kind for framework in FRAMEWORKS}
    kinds |= {kind.name: kind.kind for kind in SERVING} | {"pod": "Pod"}
    return tuple(
        QueuedKind(
            group=target.group,
            version=target.versions[0],
            resource=target.resources[0],
            kind=kinds[name],
        )
        for name, target in disabled_kinds(enabled).items()
    )


def warn_of_disabled(
    enabled: tuple[str, ...],
    namespaces: LabelSelector | None = None,
    actions: tuple[str, ...] = WARN,
) -> list[Manifest]:
    """Return the policy on objects with a queue name whose kind is not enabled.

    None where every kind is enabled: the API server refuses a policy that is about nothing. Of an
    object that has a controller its creator gets a warning, and one that named the queue before may
    still change: its finalizers must come off.
    """
    targets = list(disabled_kinds(enabled).values())
    if not targets:
        return []
    named = f"{label(QUEUE_NAME)} != ''"
    conditions = {
        "names-a-queue": named,
        "newly": f"request.operation == 'CREATE' || {label(QUEUE_NAME, 'oldObject')} == ''",
        "has-no-controller": "!object.metadata.?ownerReferences.orValue([])"
        ".exists(o, o.?controller.orValue(false))",
    }
    scope = Scope(
        targets=targets,
        conditions=conditions,
        namespaces=namespaces,
        actions=actions,
    )
    return validating_policy("disabled-kinds", scope, [Check("false", _SAID)])

"""Mutating policies put to a request, as the API server of a newer Kubernetes does itself.

A policy's mutations run in order, each on what the one before it made. When any changed something
all policies are evaluated once more, by ``reinvocationPolicy: IfNeeded``. A policy that fails is
skipped, by its ``failurePolicy: Ignore``, and the others go on.

Source: Kubernetes, "Mutating Admission Policy"; KEP-3962.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any

import msgspec
from jsonpatch import JsonPatch

from tidegate.kinds.names import QUEUE_NAME
from tidegate.kinds.policies.forms import Manifest
from tidegate.webhook.expressions import Expression, Object

VALUES_MAX, DEPTH_MAX = 20_000, 64
INT_MIN, INT_MAX = -(2**63), 2**63 - 1
"""Of CEL; the API server reads a larger number of an unknown field as a float, too."""
ROUNDS, WHY_MAX = 2, 100
Patch = list[dict[str, Any]]
FindParam = Callable[[str, str, str, str], Awaitable[Object | None]]
"""From apiVersion, kind, namespace and name to the object; None: there is none."""
OnSkipped = Callable[[str, str], None]
"""Gets a policy's name and why it could not be evaluated."""


def bounded_view(obj: object) -> Any:  # noqa: ANN401 - JSON
    """Return a copy of JSON, breadth first, in which only the bounded beginning is filled.

    A tenant chooses how many values an object has, how deep it is and how large its numbers are.
    What policies read stands near the top; what lies behind the bounds is shown as empty. Owners
    that are not the controller are left out: no policy asks for them, and they may be many.
    """
    root = _empty_copy(obj)
    queue, remaining = deque([(_with_controller(obj), root, 0)]), VALUES_MAX
    while queue:
        old, new, depth = queue.popleft()
        for key, value in _items(old):
            remaining -= 1
            if remaining < 0:
                return root
            copied = _empty_copy(value)
            if isinstance(new, dict):
                new[key] = copied
            else:
                new.append(copied)
            if depth < DEPTH_MAX:
                queue.append((value, copied, depth + 1))
    return root


def _items(value: object) -> Iterable[tuple[Any, Any]]:
    if isinstance(value, dict):
        return value.items()
    return enumerate(value) if isinstance(value, list) else ()


def _empty_copy(value: object) -> Any:  # noqa: ANN401 - JSON
    if isinstance(value, dict):
        return {}
    if isinstance(value, list):
        return []
    if isinstance(value, int) and not INT_MIN <= value <= INT_MAX:
        return float(value)
    return value


def _with_controller(obj: object) -> object:
    metadata = obj.get("metadata") if isinstance(obj, dict) else None
    owners = metadata.get("ownerReferences") if isinstance(metadata, dict) else None
    if not (isinstance(obj, dict) and isinstance(metadata, dict) and isinstance(owners, list)):
        return obj
    controllers = [
        owner for owner in owners if isinstance(owner, dict) and owner.get("controller") is True
    ]
    return {**obj, "metadata": {**metadata, "ownerReferences": controllers}}


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """A MutatingAdmissionPolicy that is compiled, with its binding's parameter."""

    name: str
    rules: tuple[Object, ...]
    conditions: tuple[Expression, ...]
    mutations: tuple[Expression, ...]
    param_kind: tuple[str, str] | None = None  # apiVersion and kind
    param_name: str = ""  # empty: the LocalQueue that the object is in

    def matches(self, request: Object) -> bool:
        """Return whether its rules name the kind of the request's object and its operation."""
        resource_fields = request["resource"]
        sub = request.get("subResource")
        resource = f"{resource_fields['resource']}/{sub}" if sub else resource_fields["resource"]
        return any(
            resource_fields["group"] in rule["apiGroups"]
            and resource_fields["version"] in rule["apiVersions"]
            and resource in rule["resources"]
            and request["operation"] in rule["operations"]
            for rule in self.rules
        )


def compile_policies(
    policies: Sequence[Manifest], manifests: Sequence[Manifest]
) -> tuple[Policy, ...]:
    """Return mutating policies, each with its binding, which is among the manifests.

    Raises:
        ExpressionError: an expression is not CEL.
    """
    bindings = {
        manifest["spec"]["policyName"]: manifest["spec"]
        for manifest in manifests
        if manifest["kind"] == "MutatingAdmissionPolicyBinding"
    }
    return tuple(
        _compile_policy(policy, bindings[policy["metadata"]["name"]]) for policy in policies
    )


async def mutate(
    policies: Sequence[Policy], request: Object, find: FindParam, on_skipped: OnSkipped
) -> Patch:
    """Return the JSON patch (RFC 6902) of all policies for an AdmissionRequest.

    Policies are shown a bounded view of the object (``bounded_view``).
    """
    obj, patch = bounded_view(request["object"]), Patch()
    request = {**request, "object": None, "oldObject": bounded_view(request.get("oldObject"))}
    for _ in range(ROUNDS):
        before = len(patch)
        for policy in policies:
            if not policy.matches(request):
                continue
            try:
                more, obj = await _apply_policy(policy, request, obj, find)
            except Exception as error:  # noqa: BLE001 - whatever a hostile object provokes
                on_skipped(policy.name, _error_text(error))
            else:
                patch += more
        if len(patch) == before:
            break
    return patch


def _error_text(error: Exception) -> str:
    """Return the error without the object's content: that may be long, or secret."""
    return f"{type(error).__name__}: {str(error).partition('{')[0][:WHY_MAX]}"


async def _apply_policy(
    policy: Policy, request: Object, obj: Object, find: FindParam
) -> tuple[Patch, Object]:
    """Return what a policy does to an object, and the object after it."""
    variables: Object = {
        "object": obj,
        "oldObject": request["oldObject"],
        "request": {**request, "oldObject": None},
        "params": None,
    }
    if not all(condition.evaluate(variables) is True for condition in policy.conditions):
        return [], obj
    if policy.param_kind is not None:
        namespace = request.get("namespace", "")
        name = policy.param_name or _queue_name(obj)
        param = await find(*policy.param_kind, namespace, name) if name else None
        if param is None:
            return [], obj
        variables["params"] = param
    patch = Patch()
    for mutation in policy.mutations:
        operations: Patch = mutation.evaluate(variables)
        after = JsonPatch(operations).apply(variables["object"])
        if after != variables["object"]:
            patch += operations
            variables["object"] = after
    return patch, variables["object"]


def _queue_name(obj: Object) -> str:
    """Return the name of an object's LocalQueue, from its label."""
    name = obj["metadata"].get("labels", {}).get(QUEUE_NAME, "")
    return name if isinstance(name, str) else ""


def _compile_policy(manifest: Manifest, binding: Manifest) -> Policy:
    spec = manifest["spec"]
    param = spec.get("paramKind")
    return Policy(
        name=manifest["metadata"]["name"],
        rules=tuple(spec["matchConstraints"]["resourceRules"]),
        conditions=tuple(
            Expression(condition["expression"]) for condition in spec.get("matchConditions", ())
        ),
        mutations=tuple(
            Expression(mutation["jsonPatch"]["expression"]) for mutation in spec["mutations"]
        ),
        param_kind=(param["apiVersion"], param["kind"]) if param else None,
        param_name=binding.get("paramRef", {}).get("name", ""),
    )

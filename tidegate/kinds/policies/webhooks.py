"""The mutating policies as a webhook's configuration, for Kubernetes that has no such policies.

The API server asks the webhook only about what a policy would look at: rules and conditions are
those of the policies. One entry a namespace selector, so that the server itself applies that.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.kinds.policies.forms import API_VERSION, PREFIX, Manifest

WEBHOOK = f"{PREFIX}webhook"
"""Of the configuration, the Deployment, the Service, the Secret and the account."""
NAMESPACE, PORT = "tidegate-system", 443
TIMEOUT_S = 5
"""After this time a request is let pass, by the policies' failurePolicy."""
_POLICY = "MutatingAdmissionPolicy"


def is_mutating(manifest: Manifest) -> bool:
    """Return whether a manifest is a mutating policy or its binding."""
    return str(manifest["kind"]).startswith(_POLICY)


def with_webhook(manifests: Sequence[Manifest]) -> list[Manifest]:
    """Return the manifests with the webhook's configuration in place of the mutating policies."""
    others = [manifest for manifest in manifests if not is_mutating(manifest)]
    return [*others, webhook_configuration(manifests)]


def webhook_configuration(manifests: Sequence[Manifest]) -> Manifest:
    """Return the MutatingWebhookConfiguration for the mutating policies among manifests.

    It has no caBundle: the webhook writes that, or cert-manager where configured.
    """
    webhooks = [_webhook(path, policies) for path, policies in by_path(manifests).items()]
    metadata: Manifest = {
        "name": WEBHOOK,
        "labels": {"app.kubernetes.io/part-of": "tidegate"},
    }
    return {
        "apiVersion": API_VERSION,
        "kind": "MutatingWebhookConfiguration",
        "metadata": metadata,
        "webhooks": webhooks,
    }


def by_path(manifests: Sequence[Manifest]) -> dict[str, list[Manifest]]:
    """Return the mutating policies by the path at which the webhook is asked about them.

    Policies with their own namespace selector have a path of their own.
    """
    policies = [manifest for manifest in manifests if manifest["kind"] == _POLICY]
    selectors = list[Manifest]()
    for policy in policies:
        if (selector := _selector(policy)) not in selectors:
            selectors.append(selector)
    selectors.sort(key=_keys)
    return {
        f"/mutate/{number}": [policy for policy in policies if _selector(policy) == selector]
        for number, selector in enumerate(selectors)
    }


def _keys(selector: Manifest) -> int:
    """Return how much a selector asks for: the policies' own comes before configured ones."""
    return len(selector.get("matchExpressions", ())) + len(selector.get("matchLabels", {}))


def _selector(policy: Manifest) -> Manifest:
    selector: Manifest = policy["spec"]["matchConstraints"]["namespaceSelector"]
    return selector


def _webhook(path: str, policies: Sequence[Manifest]) -> Manifest:
    rules = list[Manifest]()
    for policy in policies:
        rules += [rule for rule in _rules(policy) if rule not in rules]
    return {
        "name": f"{path.rpartition('/')[2]}.admission.tidegate.dev",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {
            "service": {"name": WEBHOOK, "namespace": NAMESPACE, "path": path, "port": PORT}
        },
        "failurePolicy": "Ignore",
        "matchConditions": [
            {
                "name": "has-something-to-change",
                "expression": " || ".join(map(_is_matched, policies)),
            }
        ],
        "namespaceSelector": _selector(policies[0]),
        "reinvocationPolicy": "IfNeeded",
        "rules": rules,
        "sideEffects": "None",
        "timeoutSeconds": TIMEOUT_S,
    }


def _rules(policy: Manifest) -> list[Manifest]:
    rules: list[Manifest] = policy["spec"]["matchConstraints"]["resourceRules"]
    return rules


def _is_matched(policy: Manifest) -> str:
    """Return the expression of whether a request is one that a policy looks at."""
    about = " || ".join(_matches_rule(rule) for rule in _rules(policy))
    conditions = [
        f"({condition['expression']})" for condition in policy["spec"].get("matchConditions", ())
    ]
    return f"({' && '.join([f'({about})', *conditions])})"


def _matches_rule(rule: Manifest) -> str:
    resource = (
        "request.resource.resource + (has(request.subResource) ? '/' + request.subResource : '')"
    )
    return (
        f"request.resource.group in {rule['apiGroups']} && ({resource}) in {rule['resources']}"
        f" && request.operation in {rule['operations']}"
    )

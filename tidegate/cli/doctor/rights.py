"""Checks each service's account for the rights of its role: asks the API server, not the roles.

A role and its binding can be in place and an account still be refused: another authorizer, or a
binding to an account of another name. So each verb on each resource is reviewed as that account.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tidegate.cli.doctor.findings import Finding, ok_finding, skipped_finding, wrong_finding
from tidegate.cli.objects.api_client import ApiClient, Object
from tidegate.errors import ApiStatusError

_REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
_GIVE = "`tidegate up`, or apply deploy/rbac again"


class Right(NamedTuple):
    """One verb on one resource."""

    group: str
    resource: str  # with its subresource: jobs/status
    verb: str
    object_name: str = ""  # the one object that it is for; empty: all of them

    def __str__(self) -> str:
        """Return it as one would say it: ``patch jobs.batch/status``, ``get leases tidegate``."""
        name, _, sub = self.resource.partition("/")
        resource = f"{name}{'.' if self.group else ''}{self.group}{'/' if sub else ''}{sub}"
        return f"{self.verb} {resource} {self.object_name}".rstrip()


class Account(NamedTuple):
    """A service account, and what the roles that are bound to it say it may."""

    namespace: str
    name: str
    rights: tuple[Right, ...]

    def access_review(self, right: Right) -> Object:
        """Return the question whether it has a right, in every namespace."""
        name, _, sub = right.resource.partition("/")
        requests = {"group": right.group, "resource": name, "subresource": sub, "verb": right.verb}
        requests |= {"name": right.object_name} if right.object_name else {}
        accounts = "system:serviceaccounts"
        return {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {
                "user": f"system:serviceaccount:{self.namespace}:{self.name}",
                "groups": [accounts, f"{accounts}:{self.namespace}", "system:authenticated"],
                "resourceAttributes": requests,
            },
        }


def examine_rights(api: ApiClient, manifests: list[Object]) -> Iterator[Finding]:
    """Report in one line for each account whether it has every right; once if none can be asked."""
    for account in service_accounts(manifests):
        try:
            lacking = [right for right in account.rights if not _is_allowed(api, account, right)]
        except ApiStatusError as error:
            yield _reviews_refused(error)
            return
        yield _rights_finding(account, lacking)


def service_accounts(manifests: list[Object]) -> list[Account]:
    """Return the accounts of manifests, each with the rights of the roles that are bound to it."""
    roles = {
        manifest["metadata"]["name"]: manifest
        for manifest in manifests
        if manifest["kind"] == "ClusterRole"
    }
    bound = [manifest for manifest in manifests if manifest["kind"] == "ClusterRoleBinding"]
    service_accounts = [
        manifest["metadata"] for manifest in manifests if manifest["kind"] == "ServiceAccount"
    ]
    return [
        Account(
            account["namespace"],
            account["name"],
            tuple(
                right
                for binding in bound
                if _is_bound(binding, account)
                for right in _role_rights(roles[binding["roleRef"]["name"]])
            ),
        )
        for account in service_accounts
    ]


def _is_bound(binding: Object, account: Object) -> bool:
    place = account["namespace"], account["name"]
    return any(
        (subject.get("namespace"), subject["name"]) == place for subject in binding["subjects"]
    )


def _role_rights(role: Object) -> Iterator[Right]:
    for rule in role["rules"]:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                for name in rule.get("resourceNames", [""]):
                    yield from (Right(group, resource, verb, name) for verb in rule["verbs"])


def _is_allowed(api: ApiClient, account: Account, right: Right) -> bool:
    answered = api.request("POST", _REVIEWS, account.access_review(right))
    return bool((answered.get("status") or {}).get("allowed", False))


def _rights_finding(account: Account, lacking: list[Right]) -> Finding:
    if not account.rights:
        return ok_finding("AccountNeedsNone", f"{account.name} needs no rights in Kubernetes")
    if not lacking:
        return ok_finding("AccountMay", f"{account.name} has its {len(account.rights)} rights")
    more = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
    return wrong_finding("AccountMayNot", f"{account.name} may not {lacking[0]}{more}", _GIVE)


def _reviews_refused(error: ApiStatusError) -> Finding:
    match error.status:
        case 403:
            text = (
                "you may not create SubjectAccessReviews, so the accounts' rights were not checked"
            )
            to_do = "run doctor with the right to create subjectaccessreviews.authorization.k8s.io"
        case 404:
            text = "this API server has no SubjectAccessReviews, so rights were not checked"
            to_do = "nothing for the embedded API server, where every client is an administrator"
        case _:
            text, to_do = f"rights could not be checked: {error}", "run doctor again"
    return skipped_finding("AccountsNotAsked", text, to_do)

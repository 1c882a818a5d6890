"""Checks that a cluster has what its services' configuration needs: CRDs, policies, rights."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from tidegate.cli.commands.manifests import of_configuration
from tidegate.cli.doctor.findings import Finding, good, skipped, wrong
from tidegate.cli.doctor.left_workloads import examine_left, examine_unqueued
from tidegate.cli.doctor.rights import examine_rights
from tidegate.cli.objects.api_client import Asking, Object
from tidegate.cluster.install import is_subset, manifests_folder, read_manifests
from tidegate.errors import ApiStatusError, SettingsError
from tidegate.kinds.policies.forms import API_VERSION
from tidegate.kinds.policies.webhooks import with_webhook
from tidegate.service.config.configuration import (
    Configuration,
    parse_configuration,
    read_configuration,
)

PART_OF = "app.kubernetes.io/part-of"
_CONFIG_MAPS = "/api/v1/configmaps"
_FILE = "configuration.yaml"  # its key in a ConfigMap
_POLICY = "AdmissionPolicy"  # how the kinds of policies end; those of their bindings do not
_INSTALL = "`tidegate up`, or apply the manifests again (docs/operations.md)"
_LACKS = {
    "Foreign": "remove the other installation first (docs/migrating-from-kueue.md)",
    "Unknown": "run doctor with the right to read it",
}
_NOT_FOUND = 404


class InForce(NamedTuple):
    """The configuration that the services of a cluster read."""

    where: str  # for people: a file's path, "ConfigMap NAMESPACE/NAME"; empty: the defaults
    settings: Configuration

    @property
    def to_do(self) -> str:
        """Return the command that installs what is missing."""
        if not self.where:
            return _INSTALL
        return (
            "`tidegate manifests --config FILE | kubectl apply -f -`, with the file "
            f"of {self.where}"
        )


def examine_installation(api: Asking, config: str = "") -> Iterator[Finding]:
    """Compare what is installed with what the configuration in force takes.

    ``config`` is the path of Kueue's Configuration; empty: whichever ConfigMap of Tidegate is in
    the cluster, and without one the defaults.
    """
    yield from _installation(api, "Crds", list(read_manifests(manifests_folder() / "crds")))
    try:
        configuration = in_force(api, config)
    except SettingsError as error:
        yield wrong("ConfigurationUnreadable", str(error), "correct the file, or pass --config")
        return
    except ApiStatusError as error:
        yield skipped("ConfigurationUnknown", f"ConfigMaps: {error.message}", "give --config")
        return
    enabled = ", ".join(configuration.settings.frameworks)
    yield good("ConfigurationInForce", f"{configuration.where or 'the defaults'}: {enabled}")
    expected = _admitting(api, of_configuration(configuration.settings))
    policies = [manifest for manifest in expected if _is_policy(manifest)]
    yield from _installation(api, "Policies", policies, configuration.to_do)
    yield from _left(api, policies)
    roles = list(read_manifests(manifests_folder() / "rbac"))
    roles += [manifest for manifest in expected if manifest not in policies]
    yield from _installation(api, "Rights", roles, configuration.to_do)
    yield from examine_rights(api, roles)
    yield from examine_left(api, configuration.settings)
    yield from examine_unqueued(api, configuration.settings)


def in_force(api: Asking, config: str = "") -> InForce:
    """Return the configuration that the services read; see ``examine_installation``.

    Raises:
        ApiStatusError: the ConfigMaps may not be listed.
        SettingsError: it cannot be read, or there are several.
    """
    if config:
        return InForce(config, read_configuration(config))
    maps = {
        f"ConfigMap {obj['metadata']['namespace']}/{obj['metadata']['name']}": obj["data"][_FILE]
        for obj in _config_maps(api)
        if _FILE in (obj.get("data") or {})
    }
    if len(maps) > 1:
        raise SettingsError(f"Several installations have a ConfigMap: {', '.join(maps)}.")
    for where, text in maps.items():
        try:
            return InForce(where, parse_configuration(text))
        except SettingsError as error:
            raise SettingsError(f"In {where}: {error}") from error
    return InForce("", read_configuration(""))


def _admitting(api: Asking, manifests: list[Object]) -> list[Object]:
    """Return the manifests for this API server: before Kubernetes 1.36 the webhook mutates."""
    try:
        api.place(API_VERSION, "MutatingAdmissionPolicy", "", "")
    except ApiStatusError as error:
        if error.status == _NOT_FOUND:
            return with_webhook(manifests)
    return manifests


def _is_policy(manifest: Object) -> bool:
    return _POLICY in manifest["kind"] or manifest["kind"] == "MutatingWebhookConfiguration"


def _config_maps(api: Asking) -> list[Object]:
    try:
        return api.every(_CONFIG_MAPS, f"{PART_OF}=tidegate")
    except ApiStatusError as error:
        if error.status == _NOT_FOUND:
            return []
        raise


def _installation(
    api: Asking, called: str, manifests: list[Object], to_do: str = _INSTALL
) -> Iterator[Finding]:
    """Report in one line for each sort of manifests which differ, or that all are in order."""
    names = defaultdict[str, list[str]](list)
    for manifest in manifests:
        names[_lack(api, called, manifest)].append(
            f"{manifest['kind']} {manifest['metadata']['name']}"
        )
    right = names.pop("", [])
    if not names:
        yield good(f"{called}InPlace", f"{len(right)} objects are up to date")
    for code, results in names.items():
        yield wrong(f"{called}{code}", _first(results), _LACKS.get(code, to_do))


def _lack(api: Asking, called: str, expected: Object) -> str:
    """Return how an object differs from its manifest; empty if it does not."""
    metadata, kind = expected["metadata"], expected["kind"]
    place = metadata.get("namespace", ""), metadata["name"]
    try:
        obj = api.find(api.place(expected["apiVersion"], kind, *place))
    except ApiStatusError as error:
        return "Missing" if error.status == _NOT_FOUND else "Unknown"
    if obj is None:
        return "Missing"
    if called == "Crds" and not (obj["metadata"].get("labels") or {}).get(PART_OF):
        return "Foreign"
    return "" if is_subset(obj, expected) else "Differ"


def _left(api: Asking, manifests: list[Object]) -> Iterator[Finding]:
    """Report installed policies that the configuration does not require.

    One that suspends jobs of a kind that is not enabled leaves them suspended for ever.
    """
    names = {(manifest["kind"], manifest["metadata"]["name"]) for manifest in manifests}
    remaining = list[str]()
    for version, kind in sorted(
        {(manifest["apiVersion"], manifest["kind"]) for manifest in manifests}
    ):
        try:
            results = api.every(api.place(version, kind, "", "").rstrip("/"), f"{PART_OF}=tidegate")
        except ApiStatusError:
            continue  # said already of those that are wanted
        named = ((kind, obj["metadata"]["name"]) for obj in results)
        remaining += [f"{kind} {name}" for kind, name in named if (kind, name) not in names]
    if remaining:
        text = f"{_first(remaining)} does not belong to this configuration"
        yield wrong("PoliciesLeft", text, "`kubectl delete` the policy, or enable its job kind")


def _first(names: list[str]) -> str:
    return names[0] + (f" and {len(names) - 1} more" if len(names) > 1 else "")

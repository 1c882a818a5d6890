"""Checks that a cluster has what its services' configuration needs: CRDs, policies, rights."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from tidegate.cli.commands.manifests import manifests_of_configuration
from tidegate.cli.doctor.findings import Finding, ok_finding, skipped_finding, wrong_finding
from tidegate.cli.doctor.leftover_workloads import examine_leftover_workloads, examine_unqueued
from tidegate.cli.doctor.rights import examine_rights
from tidegate.cli.objects.api_client import ApiClient, Object
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


class ActiveConfiguration(NamedTuple):
    """The configuration that the services of a cluster read."""

    where: str  # for people: a file's path, "ConfigMap NAMESPACE/NAME"; empty: the defaults
    settings: Configuration

    @property
    def install_command(self) -> str:
        """Return the command that installs what is missing."""
        if not self.where:
            return _INSTALL
        return (
            "`tidegate manifests --config FILE | kubectl apply -f -`, with the file "
            f"of {self.where}"
        )


def examine_installation(api: ApiClient, config: str = "") -> Iterator[Finding]:
    """Compare what is installed with what the configuration in force takes.

    ``config`` is the path of Kueue's Configuration; empty: whichever ConfigMap of Tidegate is in
    the cluster, and without one the defaults.
    """
    yield from _compare_manifests(api, "Crds", list(read_manifests(manifests_folder() / "crds")))
    try:
        configuration = active_configuration(api, config)
    except SettingsError as error:
        yield wrong_finding(
            "ConfigurationUnreadable", str(error), "correct the file, or pass --config"
        )
        return
    except ApiStatusError as error:
        yield skipped_finding(
            "ConfigurationUnknown", f"ConfigMaps: {error.message}", "give --config"
        )
        return
    enabled = ", ".join(configuration.settings.frameworks)
    yield ok_finding("ConfigurationInForce", f"{configuration.where or 'the defaults'}: {enabled}")
    expected = _manifests_for_server(api, manifests_of_configuration(configuration.settings))
    policies = [manifest for manifest in expected if _is_policy(manifest)]
    yield from _compare_manifests(api, "Policies", policies, configuration.install_command)
    yield from _unrequired_policies(api, policies)
    roles = list(read_manifests(manifests_folder() / "rbac"))
    roles += [manifest for manifest in expected if manifest not in policies]
    yield from _compare_manifests(api, "Rights", roles, configuration.install_command)
    yield from examine_rights(api, roles)
    yield from examine_leftover_workloads(api, configuration.settings)
    yield from examine_unqueued(api, configuration.settings)


def active_configuration(api: ApiClient, config: str = "") -> ActiveConfiguration:
    """Return the configuration that the services read; see ``examine_installation``.

    Raises:
        ApiStatusError: the ConfigMaps may not be listed.
        SettingsError: it cannot be read, or there are several.
    """
    if config:
        return ActiveConfiguration(config, read_configuration(config))
    maps = {
        f"ConfigMap {obj['metadata']['namespace']}/{obj['metadata']['name']}": obj["data"][_FILE]
        for obj in _config_maps(api)
        if _FILE in (obj.get("data") or {})
    }
    if len(maps) > 1:
        raise SettingsError(f"Several installations have a ConfigMap: {', '.join(maps)}.")
    for where, text in maps.items():
        try:
            return ActiveConfiguration(where, parse_configuration(text))
        except SettingsError as error:
            raise SettingsError(f"In {where}: {error}") from error
    return ActiveConfiguration("", read_configuration(""))


def _manifests_for_server(api: ApiClient, manifests: list[Object]) -> list[Object]:
    """Return the manifests for this API server: before Kubernetes 1.36 the webhook mutates."""
    try:
        api.object_path(API_VERSION, "MutatingAdmissionPolicy", "", "")
    except ApiStatusError as error:
        if error.status == _NOT_FOUND:
            return with_webhook(manifests)
    return manifests


def _is_policy(manifest: Object) -> bool:
    return _POLICY in manifest["kind"] or manifest["kind"] == "MutatingWebhookConfiguration"


def _config_maps(api: ApiClient) -> list[Object]:
    try:
        return api.list_all(_CONFIG_MAPS, f"{PART_OF}=tidegate")
    except ApiStatusError as error:
        if error.status == _NOT_FOUND:
            return []
        raise


def _compare_manifests(
    api: ApiClient, called: str, manifests: list[Object], to_do: str = _INSTALL
) -> Iterator[Finding]:
    """Report in one line for each sort of manifests which differ, or that all are in order."""
    names = defaultdict[str, list[str]](list)
    for manifest in manifests:
        names[_manifest_difference(api, called, manifest)].append(
            f"{manifest['kind']} {manifest['metadata']['name']}"
        )
    right = names.pop("", [])
    if not names:
        yield ok_finding(f"{called}InPlace", f"{len(right)} objects are up to date")
    for code, results in names.items():
        yield wrong_finding(f"{called}{code}", _first_and_count(results), _LACKS.get(code, to_do))


def _manifest_difference(api: ApiClient, called: str, expected: Object) -> str:
    """Return how an object differs from its manifest; empty if it does not."""
    metadata, kind = expected["metadata"], expected["kind"]
    place = metadata.get("namespace", ""), metadata["name"]
    try:
        obj = api.find(api.object_path(expected["apiVersion"], kind, *place))
    except ApiStatusError as error:
        return "Missing" if error.status == _NOT_FOUND else "Unknown"
    if obj is None:
        return "Missing"
    if called == "Crds" and not (obj["metadata"].get("labels") or {}).get(PART_OF):
        return "Foreign"
    return "" if is_subset(obj, expected) else "Differ"


def _unrequired_policies(api: ApiClient, manifests: list[Object]) -> Iterator[Finding]:
    """Report installed policies that the configuration does not require.

    One that suspends jobs of a kind that is not enabled leaves them suspended for ever.
    """
    names = {(manifest["kind"], manifest["metadata"]["name"]) for manifest in manifests}
    remaining = list[str]()
    for version, kind in sorted(
        {(manifest["apiVersion"], manifest["kind"]) for manifest in manifests}
    ):
        try:
            results = api.list_all(
                api.object_path(version, kind, "", "").rstrip("/"), f"{PART_OF}=tidegate"
            )
        except ApiStatusError:
            continue  # said already of those that are wanted
        named = ((kind, obj["metadata"]["name"]) for obj in results)
        remaining += [f"{kind} {name}" for kind, name in named if (kind, name) not in names]
    if remaining:
        text = f"{_first_and_count(remaining)} does not belong to this configuration"
        yield wrong_finding(
            "PoliciesLeft", text, "`kubectl delete` the policy, or enable its job kind"
        )


def _first_and_count(names: list[str]) -> str:
    return names[0] + (f" and {len(names) - 1} more" if len(names) > 1 else "")

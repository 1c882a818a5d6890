"""The worker cluster of a ClusterProfile, as a kubeconfig without credentials.

As in Kueue, only server, authority and proxy of the cluster are used. Arguments and environment
that a profile adds to a plugin are ignored, so that authors of profiles cannot run code here.

Source: multikueue.md 1.1, 5.1 case 7; KEP 4322 and KEP 5339 of Kubernetes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from dispatcher.manager.plugins import Plugin
from dispatcher.workers.kubeconfig import Refusal, is_trusted
from tidegate.jobs.kind import Object
from tidegate.service.config.access_providers import AccessProvider

BAD, UNTRUSTED, CLOSED = (
    "BadClusterProfile",
    "BadRestConfig",
    "MultiKueueClusterProfileFeatureDisabled",
)
_FOR_PLUGIN = "client.authentication.k8s.io/exec"
_KEPT = ("server", "certificate-authority-data", "proxy-url")


class _Extension(msgspec.Struct, frozen=True):
    name: str
    extension: Any = None


class _Cluster(msgspec.Struct, frozen=True, rename="kebab"):
    server: str
    certificate_authority_data: str = ""
    proxy_url: str = ""
    tls_server_name: str = ""
    extensions: tuple[_Extension, ...] = ()


class _Access(msgspec.Struct, frozen=True):
    name: str
    cluster: _Cluster | None = None


class _Status(msgspec.Struct, frozen=True, rename="camel"):
    credential_providers: tuple[_Access, ...] = ()  # deprecated; the newer ones go first
    access_providers: tuple[_Access, ...] = ()


class Profile(msgspec.Struct, frozen=True):
    """How a worker cluster is reached, and the plugin that logs in to it."""

    document: dict[str, Any]
    plugin: Plugin


def read_profile(
    name: str, profiles: Mapping[str, Object], providers: Sequence[AccessProvider] | None
) -> Profile | Refusal:
    """Return how to reach the cluster of a ClusterProfile, or why it is not reached.

    ``profiles``: those of our namespace, by name. ``providers``: as configured, of which the first
    counts that the profile has; None: the gate MultiKueueClusterProfile is closed.
    """
    if providers is None:
        return Refusal(reason=CLOSED, error="MultiKueueClusterProfile feature gate is disabled")
    profile = profiles.get(name)
    if profile is None:
        return _bad_config(f'clusterprofiles.multicluster.x-k8s.io "{name}" not found')
    if not providers:
        return _bad_config("no access provider configured")
    try:
        status = msgspec.convert(profile.get("status") or {}, _Status)
    except msgspec.ValidationError as error:
        return _bad_config(f'cluster profile "{name}" is not understood: {error}')
    offered = {
        access.name: access.cluster
        for access in (*status.credential_providers, *status.access_providers)
    }
    for provider in providers:
        cluster = offered.get(provider.name)
        if cluster is not None:
            return _usable_profile(name, cluster, provider)
    return _bad_config(f'no matching cluster accessor found for cluster profile "{name}"')


def _usable_profile(name: str, cluster: _Cluster, provider: AccessProvider) -> Profile | Refusal:
    if not is_trusted(cluster.server):
        return Refusal(reason=UNTRUSTED, error="untrusted server endpoint")
    fields = {field: value for field, value in msgspec.to_builtins(cluster).items() if value}
    extensions = {extension.name: extension.extension for extension in cluster.extensions}
    return Profile(
        document={
            "clusters": [
                {"name": name, "cluster": {key: fields[key] for key in _KEPT if key in fields}}
            ],
            "users": [{"name": name, "user": {}}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
            "current-context": name,
        },
        plugin=Plugin(
            config=provider.exec_config,
            cluster=_exec_info(fields, extensions.get(_FOR_PLUGIN))
            if provider.exec_config.provide_cluster_info
            else None,
        ),
    )


def _exec_info(fields: dict[str, Any], config: object) -> dict[str, Any]:
    """Return ``spec.cluster`` of an ExecCredential; ``config`` is the plugin's own, or None."""
    cluster = {field: value for field, value in fields.items() if field != "extensions"}
    return cluster if config is None else {**cluster, "config": config}


def _bad_config(error: str) -> Refusal:
    return Refusal(reason=BAD, error=error)

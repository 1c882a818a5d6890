"""The credentials of a worker cluster: from a Secret, a file or a ClusterProfile, if usable.

Source: multikueue.md 1.1.
"""

from __future__ import annotations

import asyncio
import binascii
import os
from base64 import b64decode
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from dispatcher.manager.plugins import Plugin
from dispatcher.workers.kubeconfig import (
    BAD,
    PREFIX,
    Refusal,
    check_path,
    is_trusted,
    read_kubeconfig,
)
from tidegate.jobs.kind import Object
from tidegate.service.config.access_providers import AccessProvider

KEY, SECRET = "kubeconfig", "Secret"
BAD_PROFILE, UNTRUSTED, CLOSED = (
    "BadClusterProfile",
    "BadRestConfig",
    "MultiKueueClusterProfileFeatureDisabled",
)
_FOR_PLUGIN = "client.authentication.k8s.io/exec"
_KEPT = ("server", "certificate-authority-data", "proxy-url")


class Credentials(msgspec.Struct, frozen=True, kw_only=True):
    """A kubeconfig that may be used; its text is never logged or printed."""

    data: bytes  # other data means other credentials
    document: dict[str, Any]
    plugin: Plugin | None = None  # logs in where the document has no login

    def __repr__(self) -> str:
        """Return it for a traceback: no credentials are in it."""
        return "Credentials(…)"


class Sources(msgspec.Struct, frozen=True, kw_only=True):
    """Where credentials come from: Secrets and ClusterProfiles by ``<namespace>/<name>``."""

    namespace: str  # ours; those of no other count
    secrets: Mapping[str, Object] = {}
    profiles: Mapping[str, Object] = {}
    providers: Sequence[AccessProvider] | None = None  # see ``read_profile``


class KubeconfigReader:
    """Reads a kubeconfig, and remembers the last: to parse one takes longer than all the rest."""

    def __init__(self) -> None:
        self._data: bytes | None = None
        self._parsed: dict[str, Any] | Refusal = {}

    def read(self, data: bytes) -> dict[str, Any] | Refusal:
        """See ``read_kubeconfig``."""
        if data != self._data:
            self._data, self._parsed = data, read_kubeconfig(data)
        return self._parsed


def source_of(cluster: Object) -> str:
    """Return what has a MultiKueueCluster's credentials: secret/NAME or profile/NAME; empty: none.

    A file is none: nothing tells of its changes.
    """
    source = _source(cluster)
    named = source.get("kubeConfig")
    if named is None:
        return f"profile/{(source.get('clusterProfileRef') or {}).get('name', '')}"
    return f"secret/{named['location']}" if named.get("locationType", SECRET) == SECRET else ""


def _source(cluster: Object) -> Object:
    spec: Object = cluster.get("spec") or {}
    return spec.get("clusterSource") or spec


async def credentials_of(
    cluster: Object, sources: Sources, reader: KubeconfigReader
) -> Credentials | Refusal:
    """Return the credentials that a MultiKueueCluster names."""
    source = _source(cluster)
    named = source.get("kubeConfig")
    if named is None:
        return _from_profile(source["clusterProfileRef"]["name"], sources)
    location = named["location"]
    if named.get("locationType", SECRET) == SECRET:
        data = _from_secret(location, sources)
    else:
        data = await asyncio.to_thread(_from_file, location)
    if isinstance(data, Refusal):
        return data
    document = reader.read(data)
    if isinstance(document, Refusal):
        return document
    return Credentials(data=data, document=document)


def _from_profile(name: str, sources: Sources) -> Credentials | Refusal:
    profile = read_profile(name, sources)
    if isinstance(profile, Refusal):
        return profile
    data = msgspec.json.encode(profile, order="sorted")
    return Credentials(data=data, document=profile.document, plugin=profile.plugin)


def _from_secret(name: str, sources: Sources) -> bytes | Refusal:
    secret = sources.secrets.get(f"{sources.namespace}/{name}")
    if secret is None:
        return Refusal(reason=BAD, error=f'Secret "{name}" not found')
    text = (secret.get("data") or {}).get(KEY)
    if text is None:
        return Refusal(reason=BAD, error=f'key "{KEY}" not found in secret "{name}"')
    try:
        return b64decode(text, validate=True)
    except binascii.Error:
        return Refusal(reason=BAD, error=f'key "{KEY}" of secret "{name}" is no base64')


def _from_file(path: str) -> bytes | Refusal:
    wrong = check_path(path, PREFIX, lambda location: os.path.realpath(location, strict=True))
    if wrong:
        return Refusal(reason=BAD, error=wrong)
    try:
        return Path(path).read_bytes()
    except OSError as error:
        reason = (error.strerror or "unreadable").lower()
        return Refusal(reason=BAD, error=f"open {path}: {reason}")


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


def read_profile(name: str, sources: Sources) -> Profile | Refusal:
    """Return how to reach the cluster of a ClusterProfile, or why it is not reached.

    As in Kueue, only server, authority and proxy of the cluster are used. Arguments and environment
    that a profile adds to a plugin are ignored, so that authors of profiles cannot run code here.

    Of the configured providers the first counts that the profile has; None: the gate
    MultiKueueClusterProfile is closed.

    Source: multikueue.md 1.1, 5.1 case 7; KEP 4322 and KEP 5339 of Kubernetes.
    """
    providers = sources.providers
    if providers is None:
        return Refusal(reason=CLOSED, error="MultiKueueClusterProfile feature gate is disabled")
    profile = sources.profiles.get(f"{sources.namespace}/{name}")
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
    return Refusal(reason=BAD_PROFILE, error=error)

"""Whether a worker cluster's kubeconfig may be used: nothing of it may lead to this machine.

Pure but for what ``check_path`` is handed. Source: multikueue.md 1.1, in its order.
"""

from __future__ import annotations

import ipaddress
import posixpath
import re
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import msgspec
import yaml

from tidegate.service.config.yaml_documents import BoundedLoader

INSECURE, BAD = "InsecureKubeConfig", "BadKubeConfig"
PREFIX = "/etc/multikueue/kubeconfigs"
_UNREADABLE = (ValueError, yaml.YAMLError, LookupError, AttributeError, RecursionError)
"""What reading raises; a lookup or an attribute fails where a tag does not suit its value."""
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_SUBDOMAIN_MAX = 253
_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]:[0-9]*|([^:\[\]]+)(?::[0-9]*)?)")
"""As Kueue, which cannot read an IPv6 address without a port."""
_CHARACTERS_MAX = 2**20


class _Named(msgspec.Struct, kw_only=True):
    name: str = ""


class _Cluster(msgspec.Struct, kw_only=True):
    server: str = ""
    insecure: bool = msgspec.field(default=False, name="insecure-skip-tls-verify")
    authority: str = msgspec.field(default="", name="certificate-authority")


class _User(msgspec.Struct, kw_only=True, rename="camel"):
    token_file: str = ""
    certificate: str = msgspec.field(default="", name="client-certificate")
    key: str = msgspec.field(default="", name="client-key")
    username: str = ""
    password: str = ""
    exec: Any = None
    provider: Any = msgspec.field(default=None, name="auth-provider")


class _Context(msgspec.Struct, kw_only=True):
    cluster: str = ""
    user: str = ""


class _NamedCluster(_Named, kw_only=True):
    cluster: _Cluster = msgspec.field(default_factory=_Cluster)


class _NamedUser(_Named, kw_only=True):
    user: _User = msgspec.field(default_factory=_User)


class _NamedContext(_Named, kw_only=True):
    context: _Context = msgspec.field(default_factory=_Context)


class _Kubeconfig(msgspec.Struct, kw_only=True):
    clusters: list[_NamedCluster] = []
    users: list[_NamedUser] = []
    contexts: list[_NamedContext] = []
    current: str = msgspec.field(default="", name="current-context")


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """Why a worker cluster's credentials are not used: of its condition Active."""

    reason: str
    error: str


def read_kubeconfig(data: bytes) -> dict[str, Any] | Refusal:
    """Return a kubeconfig that may be used as plain data, or why it may not."""
    try:
        text = data[:_CHARACTERS_MAX].decode()
        plain = yaml.load(text, Loader=BoundedLoader)  # noqa: S506 - a safe one
        _drop_nulls(plain, set())
        typed = msgspec.convert(plain, _Kubeconfig)
    except _UNREADABLE as error:
        return _insecure(f"failed to parse kubeconfig(apiconfig): {_error_location(error)}")
    wrong = next(_problems(typed), "")
    if wrong:
        return _insecure(wrong)
    kubeconfig: dict[str, Any] = plain
    used = _used_cluster(typed)
    return kubeconfig if used is not None and _has_tls(used) else _without_logins(kubeconfig)


def _drop_nulls(value: Any, done: set[int]) -> None:  # noqa: ANN401 - any YAML value
    """Remove the fields that are null: they count as absent.

    ``done``: the ids of what was looked at, since aliases may name one value any number of times.
    """
    if id(value) in done or not isinstance(value, dict | list):
        return
    done.add(id(value))
    if isinstance(value, dict):
        for key in [key for key, inner in value.items() if inner is None]:
            del value[key]
    for inner in value.values() if isinstance(value, dict) else value:
        _drop_nulls(inner, done)


def _has_tls(cluster: _Cluster) -> bool:
    return urlsplit(cluster.server).scheme == "https"


def _without_logins(kubeconfig: dict[str, Any]) -> dict[str, Any]:
    """Return a kubeconfig without secrets: without TLS they could be read on the way."""
    return {**kubeconfig, "users": [{**user, "user": {}} for user in kubeconfig.get("users", ())]}


def _error_location(error: Exception) -> str:
    """Return where a text is wrong, without quoting it: it is a secret."""
    mark = error.problem_mark if isinstance(error, yaml.MarkedYAMLError) else None
    return type(error).__name__ if mark is None else f"no YAML from line {mark.line + 1} on"


def check_path(path: str, prefix: str, resolved: Callable[[str], str]) -> str:
    """Return what is wrong with the path of a kubeconfig; empty: nothing.

    ``resolved`` returns a path without symbolic links.

    Raises:
        OSError: as ``resolved`` does.
    """
    under = "kubeconfig path is not under the allowed prefix"
    if not path:
        return "kubeconfig path must not be empty"
    clean = posixpath.normpath(path)
    if ".." in path.split("/"):
        return f'{under}: path contains ".."'
    if not posixpath.isabs(clean):
        return f"{under}: path must be absolute"
    try:
        real, root = resolved(clean), resolved(prefix)
    except (OSError, ValueError) as error:  # a path may have a NUL
        return f"cannot resolve kubeconfig path symlinks: {error}"
    if not real.startswith(root.rstrip("/") + "/"):
        return f'{under}: "{clean}" is not under "{prefix}"'
    return ""


def is_trusted(server: str) -> bool:
    """Return whether a URL names its server by an address or by a name of DNS."""
    try:
        netloc = urlsplit(server).netloc if server.split() == [server] else ""
    except ValueError:
        return False
    match = _HOST.fullmatch(netloc.rpartition("@")[2])
    host = "" if match is None else (match[1] or match[2]).lower()
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return len(host) <= _SUBDOMAIN_MAX and _SUBDOMAIN.fullmatch(host) is not None
    return True


def _insecure(error: str) -> Refusal:
    return Refusal(reason=INSECURE, error=error)


def _problems(config: _Kubeconfig) -> Iterator[str]:
    if any(named.user.token_file for named in config.users):
        yield "tokenFile is not allowed"
    yield from _files_of_users(config)
    for cluster in config.clusters:
        if cluster.cluster.insecure:
            yield f"insecure TLS verification is not allowed for cluster {cluster.name}"
        if cluster.cluster.authority:
            yield (
                "certificate-authority file paths are not allowed, use "
                f"certificate-authority-data for cluster {cluster.name}"
            )
        if not cluster.cluster.server:
            yield f"server URL is required for cluster {cluster.name}"
    yield from _context_problems(config)


def _files_of_users(config: _Kubeconfig) -> Iterator[str]:
    for entry in config.users:
        named = (("client-certificate", entry.user.certificate), ("client-key", entry.user.key))
        for field in (field for field, path in named if path):
            yield f"{field} file paths are not allowed, use {field}-data for user {entry.name}"


def _used_context(config: _Kubeconfig) -> _Context | None:
    named = (context.context for context in config.contexts if context.name == config.current)
    return next(named, None)


def _used_cluster(config: _Kubeconfig) -> _Cluster | None:
    used = _used_context(config) or _Context()
    named = (cluster.cluster for cluster in config.clusters if cluster.name == used.cluster)
    return next(named, None)


def _context_problems(config: _Kubeconfig) -> Iterator[str]:
    """Yield what is wrong with the context that is used."""
    used, cluster = _used_context(config), _used_cluster(config)
    if used is None and config.current:
        missing = f"context was not found for specified context: {config.current}"
        yield f"invalid configuration: {missing}"
    if cluster is None:
        yield "invalid configuration: the current context names no cluster"
    elif not is_trusted(cluster.server):
        yield "untrusted server endpoint"
    name = "" if used is None else used.user
    user = next((user.user for user in config.users if user.name == name), _User())
    if user.username or user.password:
        yield "basic auth is not allowed"
    if user.exec is not None:
        yield "exec plugins are not allowed"
    if user.provider is not None:
        yield "auth providers are not allowed"

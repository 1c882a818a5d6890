"""Users of requests through a proxy: its headers, trusted by its client certificate alone.

Any client could send the same headers, so they count only on a connection with a certificate that
the proxy's authority signed, for one of the proxy's names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from urllib.parse import unquote

import msgspec

from tidegate.errors import NotSupportedError
from tidegate.kube.answers import checked_body
from tidegate.kube.ports import KubernetesApi
from tidegate.serve.auth.reviews import User

CONFIG_MAP = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
USER, GROUPS = "x-forwarded-user", "x-forwarded-groups"
GROUPS_MAX = 1_000
_OWN = "system:"


class FrontProxy(msgspec.Struct, frozen=True, kw_only=True):
    """By what the API server is known when its aggregation layer passes a request on.

    Source: Kubernetes' documentation, "Configure the Aggregation Layer"; the ConfigMap
    ``extension-apiserver-authentication`` has authority and names.
    """

    authority: str  # certificates in PEM
    names: tuple[str, ...] = ()  # common names; none: any that the authority signed
    user_headers: tuple[str, ...] = ("x-remote-user",)
    group_headers: tuple[str, ...] = ("x-remote-group",)
    extra_prefixes: tuple[str, ...] = ("x-remote-extra-",)

    def user_of(self, peer: str | None, headers: Sequence[tuple[str, str]]) -> User | None:
        """Return the user that the API server passes on; None: the peer is not the API server.

        ``peer`` is the common name of the connection's certificate, which TLS has verified; None:
        it has none. ``headers`` have names in lower case.
        """
        if peer is None or (self.names and peer not in self.names):
            return None
        names = [value for name, value in headers if name in self.user_headers and value]
        if len(names) != 1:
            return None
        groups = tuple(value for name, value in headers if name in self.group_headers)
        return User(name=names[0], groups=groups, extra=self._extra_fields(headers))

    def _extra_fields(self, headers: Sequence[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
        values = dict[str, tuple[str, ...]]()
        for name, value in headers:
            for prefix in self.extra_prefixes:
                if name.startswith(prefix):
                    key = unquote(name.removeprefix(prefix))
                    values[key] = (*values.get(key, ()), value)
        return values


class _ConfigMap(msgspec.Struct, frozen=True):
    data: dict[str, str] = {}


async def read_front_proxy(api: KubernetesApi) -> FrontProxy:
    """Return what the cluster says of its aggregation layer.

    Raises:
        ApiStatusError: the ConfigMap may not be read.
        ApiUnreachableError: no answer came.
        NotSupportedError: the API server has no aggregation layer.
    """
    answer = await api.request("GET", CONFIG_MAP)
    data = msgspec.json.decode(checked_body(answer, HTTPStatus.OK), type=_ConfigMap).data
    if not data.get("requestheader-client-ca-file"):
        raise NotSupportedError(
            "This API server passes nothing on: start it with --requestheader-client-ca-file, "
            "--proxy-client-cert-file and --proxy-client-key-file."
        )
    return FrontProxy(
        authority=data["requestheader-client-ca-file"],
        names=_list_in(data, "requestheader-allowed-names", lower=False),
        user_headers=_list_in(data, "requestheader-username-headers"),
        group_headers=_list_in(data, "requestheader-group-headers"),
        extra_prefixes=_list_in(data, "requestheader-extra-headers-prefix"),
    )


def _list_in(data: Mapping[str, str], name: str, *, lower: bool = True) -> tuple[str, ...]:
    names = msgspec.json.decode(data.get(name) or "[]", type=tuple[str, ...])
    return tuple(value.lower() for value in names) if lower else names


class OidcProxy(msgspec.Struct, frozen=True, kw_only=True):
    """By what an OIDC proxy is known when it passes a request on: oauth2-proxy, Envoy, nginx.

    Names of Kubernetes' own are refused: an identity provider may have a group ``system:masters``.
    """

    authority: str  # certificates in PEM
    names: tuple[str, ...]  # common names of its certificates
    user_header: str = USER  # in lower case, as all headers here
    groups_header: str = GROUPS
    prefix: str = ""  # before users and groups, as the API server's --oidc-username-prefix

    def user_of(self, peer: str | None, headers: Sequence[tuple[str, str]]) -> User | None:
        """Return the user that the proxy passes on; None: the peer is not the proxy, or no user.

        ``peer`` is the common name of the connection's certificate, which TLS has verified; None:
        it has none. ``headers`` have names in lower case.
        """
        if peer is None or peer not in self.names:
            return None
        users = [value.strip() for name, value in headers if name == self.user_header]
        if len(users) != 1 or not self._is_foreign(users[0]):
            return None
        listed = [value for name, value in headers if name == self.groups_header]
        groups = [group.strip() for value in listed for group in value.split(",")][:GROUPS_MAX]
        return User(
            name=self.prefix + users[0],
            groups=(
                *(self.prefix + group for group in groups if self._is_foreign(group)),
                _EVERYBODY,
            ),
        )

    def _is_foreign(self, name: str) -> bool:
        """Tell whether a name is none that Kubernetes gives a meaning of its own."""
        return bool(name) and not (self.prefix + name).startswith(_OWN)


_EVERYBODY = "system:authenticated"
"""The group that the API server adds to every authenticated user."""

"""Users of requests through the API server: headers of its aggregation layer, proven by mTLS.

The proof is the client certificate that the connection was made with: signed by the authority, and
with one of the names, that the ConfigMap ``extension-apiserver-authentication`` holds. Without it
the headers may be forged, and are ignored.

Source: Kubernetes' documentation, "Configure the Aggregation Layer".
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


class FrontProxy(msgspec.Struct, frozen=True, kw_only=True):
    """By what the API server is known when it passes a request on."""

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

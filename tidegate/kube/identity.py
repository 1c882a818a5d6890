"""Which cluster an API server is of: the uid of its Namespace kube-system, which never changes."""

from __future__ import annotations

from http import HTTPStatus

import msgspec

from tidegate.kube.answers import checked_body
from tidegate.kube.ports import KubernetesApi

PATH = "/api/v1/namespaces/kube-system"


class _Metadata(msgspec.Struct, frozen=True):
    uid: str


class _Namespace(msgspec.Struct, frozen=True):
    metadata: _Metadata


async def cluster_uid(api: KubernetesApi) -> str:
    """Return the cluster's uid.

    Raises:
        ApiStatusError: the server refused to say it.
        ApiUnreachableError: no answer came.
    """
    answer = await api.request("GET", PATH)
    return msgspec.json.decode(checked_body(answer, HTTPStatus.OK), type=_Namespace).metadata.uid

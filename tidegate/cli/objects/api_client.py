"""The API server as commands ask it: one request after the other, objects as their JSON says.

The kubeconfig is the one named, else ``$KUBECONFIG``, else the running instance's, else the user's.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any, TypeAlias

import msgspec
import typer

from tidegate.cli.instance import read_instance
from tidegate.errors import ApiStatusError, ApiUnreachableError, NotSupportedError
from tidegate.kube.answers import checked_body
from tidegate.kube.ports import JSON, MERGE_PATCH, KubernetesApi

Object: TypeAlias = dict[str, Any]

KubeconfigOption = Annotated[
    str,
    typer.Option(
        help="The kubeconfig of the API server; default: $KUBECONFIG, else the running instance's.",
        show_default=False,
    ),
]
ContextOption = Annotated[
    str,
    typer.Option(help="The kubeconfig's context; default: its current one.", show_default=False),
]
NamespaceOption = Annotated[str, typer.Option("--namespace", "-n", help="The namespace.")]

_NOT_FOUND = 404
_PAGE = "500"


class ApiClient:
    """An open connection to an API server, without the waiting."""

    def __init__(self, api: KubernetesApi, runner: asyncio.Runner) -> None:
        self._api, self._runner = api, runner
        self._resources = dict[str, list[Object]]()

    def request(
        self,
        method: str,
        path: str,
        body: Object | None = None,
        query: Mapping[str, str] | None = None,
    ) -> Object:
        """Send one request and return the object that is answered.

        Raises:
            ApiStatusError: the API server refused it.
            ApiUnreachableError: it does not answer, or what answers is no API server.
        """
        answer = self._runner.run(
            self._api.request(
                method,
                path,
                query=query,
                body=None if body is None else msgspec.json.encode(body),
                content_type=MERGE_PATCH if method == "PATCH" else JSON,
            )
        )
        try:
            return msgspec.json.decode(checked_body(answer), type=Object)
        except msgspec.DecodeError as error:
            raise ApiUnreachableError(
                f"{method} {path} was answered with no Kubernetes object: check which server the"
                " kubeconfig names."
            ) from error

    def request_raw(self, path: str, query: Mapping[str, str]) -> bytes:
        """Return an answer as it came.

        Raises:
            ApiStatusError: the API server refused it.
            ApiUnreachableError: it does not answer.
        """
        return checked_body(self._runner.run(self._api.request("GET", path, query=query)))

    def find(self, path: str) -> Object | None:
        """Return the object at a path; None if there is none."""
        try:
            return self.request("GET", path)
        except ApiStatusError as error:
            if error.status == _NOT_FOUND:
                return None
            raise

    def list_all(self, path: str, labels: str = "") -> list[Object]:
        """Return all objects of a collection that the label selector takes, page by page."""
        query = {"limit": _PAGE}
        query |= {"labelSelector": labels} if labels else {}
        results = list[Object]()
        while True:
            page = self.request("GET", path, query=query)
            results += page.get("items") or []
            following = page.get("metadata", {}).get("continue", "")
            if not following:
                return results
            query["continue"] = following

    def object_path(self, api_version: str, kind: str, namespace: str, name: str) -> str:
        """Return the path of an object of any kind that the server serves.

        Raises:
            ApiStatusError: it serves no such kind.
        """
        root = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
        if root not in self._resources:
            self._resources[root] = self.request("GET", root).get("resources", [])
        for row in self._resources[root]:
            if row["kind"] == kind and "/" not in row["name"]:
                inside = f"/namespaces/{namespace}" if row["namespaced"] else ""
                return f"{root}{inside}/{row['name']}/{name}"
        raise ApiStatusError(_NOT_FOUND, f"{kind} of {api_version} is not served")


def kubeconfig_path(kubeconfig: str) -> str:
    """Return which kubeconfig is meant; empty: whichever the client finds."""
    if kubeconfig or os.environ.get("KUBECONFIG"):
        return kubeconfig
    instance = read_instance()
    return instance.kubeconfig if instance is not None else ""


@contextmanager
def open_api(kubeconfig: str = "", context: str = "") -> Generator[ApiClient]:
    """Connect to the API server; nothing is asked before the first request.

    Raises:
        NotSupportedError: there is no kubeconfig, or this installation has no Kubernetes client.
    """
    try:
        from tidegate.kube.client import connect  # noqa: PLC0415 - costs a second, and may be absent
        from tidegate.kube.credentials import Access  # noqa: PLC0415
    except ImportError as error:
        raise NotSupportedError(
            f"This installation has no Kubernetes client ({error}): pip install 'tidegate[all]'."
        ) from error
    access = Access(kubeconfig=kubeconfig_path(kubeconfig), context=context)
    with asyncio.Runner() as runner:
        opened = connect(access)
        api = runner.run(opened.__aenter__())
        try:
            yield ApiClient(api, runner)
        finally:
            runner.run(opened.__aexit__(None, None, None))

"""The kinds that commands name, and how people spell them: ``clusterqueue``, ``cq``, ``wl``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import typer

from tidegate.kinds.names import GROUP, VERSIONS


class CommandKind(NamedTuple):
    """A kind as the command line says it."""

    word: str  # the sub-command
    kind: str
    plural: str
    short: str
    namespaced: bool

    @property
    def api_version(self) -> str:
        """Return the version that is written."""
        return f"{GROUP}/{VERSIONS[0]}"

    def path(self, name: str = "", namespace: str = "") -> str:
        """Return the path of an object; without a name of the collection."""
        inside = f"/namespaces/{namespace}" if self.namespaced and namespace else ""
        return f"/apis/{self.api_version}{inside}/{self.plural}" + (f"/{name}" if name else "")


CLUSTER_QUEUE = CommandKind("clusterqueue", "ClusterQueue", "clusterqueues", "cq", namespaced=False)
LOCAL_QUEUE = CommandKind("localqueue", "LocalQueue", "localqueues", "lq", namespaced=True)
WORKLOAD = CommandKind("workload", "Workload", "workloads", "wl", namespaced=True)


def add_kind_command(
    app: typer.Typer,
    kind: CommandKind,
    function: Callable[..., Any],
    **settings: Any,  # noqa: ANN401 - typer's
) -> None:
    """Add a sub-command under the kind's word, and unlisted under its short name and plural."""
    app.command(kind.word, **settings)(function)
    for other in (kind.short, kind.plural):
        app.command(other, hidden=True, **settings)(function)

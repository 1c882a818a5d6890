"""``tidegate cluster up|down|status``: the local Kubernetes of this instance.

The first and the last line of each say which form of cluster it is.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Annotated

import typer

from apiserver.limits import LIMITS
from tidegate.cli.instance import state_folder
from tidegate.cluster.install import install, manifests_folder
from tidegate.cluster.local import Cluster, choose_form, current_cluster, is_up
from tidegate.cluster.local import start_cluster as bring_up
from tidegate.cluster.local import stop_cluster as bring_down
from tidegate.cluster.progress import ProgressLines
from tidegate.errors import ApiUnreachableError
from tidegate.kube.client import connect
from tidegate.kube.credentials import Access

app = typer.Typer(name="cluster", help="The local Kubernetes.", no_args_is_help=True)

On = Annotated[
    str, typer.Option("--on", help="auto, kubeconfig, container, go or embedded", metavar="FORM")
]
State = Annotated[
    Path | None,
    typer.Option("--state", help="The instance's folder; default: $TIDEGATE_STATE.", metavar="DIR"),
]
Install = Annotated[
    bool, typer.Option("--install/--no-install", help="Apply CRDs, policies and roles.")
]
_EXIT_NO = 1


@app.command()
def up(on: On = "auto", state: State = None, *, with_install: Install = True) -> None:
    """Start the local Kubernetes if it does not run yet.

    Example: tidegate cluster up --on go
    """
    lines, folder = ProgressLines(sys.stdout), _folder(state)
    form = choose_form(on, folder)
    lines.write_line(_cluster_line(Cluster(form=form, kubeconfig="")))
    cluster = bring_up(form, folder, lines.write_line, lines.progress)
    if with_install:
        asyncio.run(_install(cluster, lines))
    lines.write_line(f"export KUBECONFIG={cluster.kubeconfig}")
    lines.write_line(f"{_cluster_line(cluster)} is up")


@app.command()
def down(state: State = None) -> None:
    """Stop the local Kubernetes that `up` started.

    Example: tidegate cluster down
    """
    lines, folder = ProgressLines(sys.stdout), _folder(state)
    cluster = current_cluster(folder)
    if cluster is None:
        lines.write_line("no cluster is up")
        return
    lines.write_line(_cluster_line(cluster))
    bring_down(folder)
    lines.write_line(f"{_cluster_line(cluster)} {_ENDINGS[cluster.form]}")


@app.command()
def status(state: State = None) -> None:
    """Show this instance's cluster and whether it answers; the exit code is 1 if it does not.

    Example: tidegate cluster status
    """
    lines, folder = ProgressLines(sys.stdout), _folder(state)
    cluster = current_cluster(folder)
    if cluster is None:
        lines.write_line("no cluster is up: tidegate cluster up")
        raise typer.Exit(_EXIT_NO)
    lines.write_line(_cluster_line(cluster))
    lines.write_line(f"kubeconfig: {cluster.kubeconfig}")
    for limit in LIMITS if cluster.form == "embedded" else ():
        lines.write_line(f"limit: {limit}")
    answered = is_up(cluster, folder) and asyncio.run(_is_reachable(cluster))
    lines.write_line(f"{_cluster_line(cluster)} is {'up' if answered else 'down'}")
    if not answered:
        raise typer.Exit(_EXIT_NO)


_ENDINGS = {
    "kubeconfig": "stays as it is: Tidegate did not make it",
    "container": "is removed, with everything in it",
    "go": "is down; its objects stay for the next up",
    "embedded": "is down; its objects were in memory",
}


async def _install(cluster: Cluster, lines: ProgressLines) -> None:
    async with connect(Access(kubeconfig=cluster.kubeconfig)) as api:
        count = await install(api, manifests_folder(), lines.write_line)
    lines.write_line(f"{count} objects of Tidegate are in the cluster")


async def _is_reachable(cluster: Cluster) -> bool:
    async with connect(Access(kubeconfig=cluster.kubeconfig)) as api:
        try:
            return (await api.request("GET", "/readyz")).body == b"ok"
        except ApiUnreachableError:
            return False


def _folder(state: Path | None) -> Path:
    return (state or state_folder()) / "cluster"


def _cluster_line(cluster: Cluster) -> str:
    return f"cluster: {cluster.description}"

"""``tidegate up`` and ``tidegate down``: the three services, their bus and a local Kubernetes."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from tidegate.cli.commands.manifests import manifests_of_file as wanted_manifests
from tidegate.cli.instance import (
    Instance,
    forget_instance,
    is_running,
    read_instance,
    state_folder,
    write_instance,
)
from tidegate.cli.live.board import event_lines
from tidegate.cli.live.follow import open_follower
from tidegate.cluster.install import apply, install, manifests_folder
from tidegate.cluster.local import Cluster, choose_form
from tidegate.cluster.local import start_cluster as bring_up
from tidegate.cluster.local import stop_cluster as bring_down
from tidegate.cluster.progress import ProgressLines
from tidegate.cluster.running import (
    SERVICES,
    RunningServices,
    RunOptions,
    run_services,
    services_of,
)
from tidegate.kube.client import connect
from tidegate.kube.credentials import Access
from tidegate.kube.ownership import hold_ownership
from tidegate.urls import redacted

_NO, _POLL_S, _PATIENCE_S = 1, 0.3, 40.0

On = Annotated[
    str, typer.Option(help="Local Kubernetes: auto, kubeconfig, container, go or embedded.")
]


def up(
    on: On = "auto",
    ledger: Annotated[
        str, typer.Option(help="The ledger's URL; default: SQLite in the instance's folder.")
    ] = "",
    config: Annotated[str, typer.Option(help="Path of Kueue's Configuration file.")] = "",
    *,
    shadow: Annotated[
        bool,
        typer.Option("--shadow", help="Decide beside another controller without changing objects."),
    ] = False,
) -> None:
    """Run Tidegate on this machine: local Kubernetes, NATS and the three services.

    The state is in $TIDEGATE_STATE (default ~/.local/state/tidegate), and the next `up` continues
    from it. Ctrl-C ends the services; the local Kubernetes runs until `tidegate down`.

    Examples:
      tidegate up

      tidegate up --on go --ledger postgresql://tidegate@localhost/tidegate

      tidegate up --on kubeconfig --shadow
    """
    output = ProgressLines(sys.stdout)
    instance = read_instance()
    if instance is not None and is_running(instance):
        output.write_line(
            f"An instance runs already (pid {instance.pid}): `tidegate down` ends it."
        )
        raise typer.Exit(_NO)
    config = str(Path(config).absolute()) if config else ""
    if ledger:
        from store.schema.migrate import upgrade  # noqa: PLC0415 - SQL may be absent

        upgrade(ledger)  # as the scheduler does: what is wrong with it is said before all else
    cluster = prepare_cluster(on, output, touch=not shadow, config=config)
    services = SERVICES[:2] if shadow else services_of(config)
    try:
        asyncio.run(_run_services(cluster, ledger, config, services, output))
    except asyncio.CancelledError:
        output.write_line("ended before the services were ready")
        raise typer.Exit(_NO) from None


def down() -> None:
    """End the running instance and its local Kubernetes.

    Example: tidegate down
    """
    output = ProgressLines(sys.stdout)
    if not end_instance(output):
        output.write_line("nothing was up")


def end_instance(output: ProgressLines) -> bool:
    """End this user's instance and its local Kubernetes; return whether any of it was up."""
    instance = read_instance()
    runs = instance is not None and is_running(instance)
    if instance is not None and runs:
        output.write_line(f"draining the instance (pid {instance.pid})")
        os.kill(instance.pid, signal.SIGTERM)
        deadline = time.monotonic() + _PATIENCE_S
        while is_running(instance):
            if time.monotonic() > deadline:
                output.write_line(
                    f"It did not end within {_PATIENCE_S:.0f} s: kill -9 {instance.pid} ends it."
                )
                raise typer.Exit(_NO)
            time.sleep(_POLL_S)
    forget_instance()
    cluster = bring_down(state_folder() / "cluster")
    if cluster is not None:
        output.write_line(f"{cluster.form} cluster is down")
    return runs or cluster is not None


def prepare_cluster(
    on: str, output: ProgressLines, *, touch: bool = True, config: str = ""
) -> Cluster:
    """Bring the local Kubernetes of this instance up and install Tidegate's objects into it.

    With a configuration, what the job kinds that it enables need is among them.

    Raises:
        TidegateError: it cannot be had; the message says what to do.
    """
    folder = state_folder() / "cluster"
    form = choose_form(on, folder)
    output.write_line(f"local Kubernetes: {form}")
    cluster = bring_up(form, folder, output.write_line, output.progress)
    if touch:
        asyncio.run(_install_objects(cluster, output, wanted_manifests(config) if config else []))
    return cluster


async def _install_objects(
    cluster: Cluster, output: ProgressLines, more: list[dict[str, Any]]
) -> None:
    async with connect(Access(kubeconfig=cluster.kubeconfig)) as api:
        await install(api, manifests_folder(), output.write_line)
        for obj in more:
            await apply(api, obj)


async def _run_services(
    cluster: Cluster, ledger: str, config: str, services: tuple[str, ...], output: ProgressLines
) -> None:
    settings = RunOptions(
        state=state_folder(),
        kubeconfig=Path(cluster.kubeconfig),
        ledger=ledger,
        config=config,
        services=services,
    )
    stopping, starting = asyncio.Event(), asyncio.current_task()
    assert starting is not None, "this is a coroutine"
    _handle_signals(starting.cancel)
    output.write_line(f"starting NATS, {', '.join(services)}")
    async with AsyncExitStack() as stack:
        if "actuator" in services:  # a shadow touches nothing
            api = await stack.enter_async_context(connect(Access(kubeconfig=cluster.kubeconfig)))
            holder = f"tidegate up in {state_folder().resolve()} on {socket.gethostname()}"
            await stack.enter_async_context(hold_ownership(api, holder))
        running = await stack.enter_async_context(run_services(settings, output.write_line))
        _handle_signals(stopping.set)
        write_instance(
            Instance(
                ledger=running.ledger,
                nats_url=running.nats_url,
                kubeconfig=cluster.kubeconfig,
                config=config,
                pid=os.getpid(),
                started_us=time.time_ns() // 1_000,
            )
        )
        output.write_line(f"up: KUBECONFIG={cluster.kubeconfig} ledger {redacted(running.ledger)}")
        await _show_live_table(running, stopping)
        output.write_line("draining")
    output.write_line(f"local Kubernetes: {cluster.form} (stays up; `tidegate down` ends it)")


def _handle_signals(handle: Callable[[], object]) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, handle)


async def _show_live_table(running: RunningServices, stopping: asyncio.Event) -> None:
    console = Console()
    with open_follower(running.ledger) as follower:
        await asyncio.to_thread(follower.poll)  # what was before is not news
        while not stopping.is_set():
            for line in event_lines(await asyncio.to_thread(follower.poll)):
                console.print(line, soft_wrap=True)
            try:
                async with asyncio.timeout(_POLL_S):
                    await stopping.wait()
            except TimeoutError:
                continue

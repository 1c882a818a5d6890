"""``tidegate get``, ``describe``, ``edit`` and ``patch``: kubectl does them, on Kueue's kinds."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable

import typer

from tidegate.cli.objects.api_client import kubeconfig_of
from tidegate.cli.objects.naming import NAMED, Named, offer
from tidegate.errors import NotSupportedError
from tidegate.kinds.names import GROUP

_SETTINGS = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}
_HELP = {
    "get": "Show queues, Workloads and flavors as kubectl does.",
    "describe": "Describe queues, Workloads and flavors as kubectl does.",
    "edit": "Edit queues, Workloads and flavors in an editor, as kubectl does.",
    "patch": "Patch queues, Workloads and flavors as kubectl does.",
}


def pass_on(verb: str, named: Named, arguments: list[str]) -> int:
    """Run kubectl on a kind, with the same terminal; return its exit code.

    Raises:
        NotSupportedError: kubectl is not installed.
    """
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        raise NotSupportedError(
            f"`tidegate {verb}` hands over to kubectl, which is not on PATH: install it "
            "(https://kubernetes.io/docs/tasks/tools), or see `tidegate list` for what needs none."
        )
    config = kubeconfig_of("")
    told = {**os.environ, "KUBECONFIG": config} if config else None
    command = [kubectl, verb, f"{named.plural}.{GROUP}", *arguments]
    return subprocess.run(command, env=told, check=False).returncode  # noqa: S603 - the user's own words


def _app(verb: str) -> typer.Typer:
    app = typer.Typer(help=_HELP[verb], no_args_is_help=True)
    for named in NAMED:
        offer(app, named, _command(verb, named), context_settings=_SETTINGS)
    return app


def _command(verb: str, named: Named) -> Callable[[typer.Context], None]:
    def run(context: typer.Context) -> None:
        raise typer.Exit(pass_on(verb, named, context.args))

    run.__doc__ = f"""{verb.capitalize()} {named.plural} with kubectl, which takes all arguments.

    Example:
      tidegate {verb} {named.word} NAME
    """
    return run


get, describe, edit, patch = map(_app, _HELP)

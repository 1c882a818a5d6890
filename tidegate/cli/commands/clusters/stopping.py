"""``tidegate clusters cordon``, ``drain`` and ``uncordon``: the stop policy of a worker cluster."""

from __future__ import annotations

from typing import Annotated

import typer

from tidegate.cli.objects.api_client import ContextOption, KubeconfigOption, open_api
from tidegate.cli.objects.patching import patched
from tidegate.cli.objects.printing import DryRun, DryRunOption, print_done
from tidegate.cli.output import Output, OutputOption
from tidegate.kinds.names import API_VERSION, STOP_POLICY
from tidegate.model.quota import StopPolicy

Name = Annotated[str, typer.Argument(help="The MultiKueueCluster's name.")]


def cordon(
    name: Name,
    *,
    dry: DryRunOption = DryRun.NONE,
    kubeconfig: KubeconfigOption = "",
    context: ContextOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Send no new workloads to a worker cluster; its running workloads continue.

    Example:
      tidegate clusters cordon worker-1
    """
    _set(name, "Hold", "cordoned", dry, output, kubeconfig, context)


def drain(
    name: Name,
    *,
    dry: DryRunOption = DryRun.NONE,
    kubeconfig: KubeconfigOption = "",
    context: ContextOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Stop the workloads on a worker cluster and send them to other clusters.

    A cluster that does not answer keeps its workloads, because they cannot be stopped there.

    Example:
      tidegate clusters drain worker-1
    """
    _set(name, "HoldAndDrain", "drained", dry, output, kubeconfig, context)


def uncordon(
    name: Name,
    *,
    dry: DryRunOption = DryRun.NONE,
    kubeconfig: KubeconfigOption = "",
    context: ContextOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Send a worker cluster workloads again.

    Example:
      tidegate clusters uncordon worker-1
    """
    _set(name, None, "uncordoned", dry, output, kubeconfig, context)


def _set(  # noqa: PLR0913, PLR0917 - what every change needs
    name: str,
    policy: StopPolicy | None,
    done: str,
    dry: DryRun,
    output: Output,
    kubeconfig: str,
    context: str,
) -> None:
    path = f"/apis/{API_VERSION}/multikueueclusters/{name}"
    with open_api(kubeconfig, context) as api:
        obj = patched(api, path, {"metadata": {"annotations": {STOP_POLICY: policy}}}, dry)
    print_done(obj, done, output, dry)

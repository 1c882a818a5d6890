"""``tidegate clusters cordon``, ``drain`` and ``uncordon``: the stop policy of a cluster.

A worker's stands on its MultiKueueCluster, a member's on each ResourceFlavor that exists there.
"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tidegate.cli.objects.api_client import (
    ApiClient,
    ContextOption,
    KubeconfigOption,
    Object,
    open_api,
)
from tidegate.cli.objects.naming import check_name
from tidegate.cli.objects.patching import DryRun, DryRunOption, patch_object, print_done
from tidegate.cli.output import Output, OutputOption
from tidegate.errors import UnknownNameError
from tidegate.kinds.kueue_api.queues.own_annotations import clusters_of, clusters_text
from tidegate.kinds.meta import ObjectMeta
from tidegate.kinds.names import API_VERSION, CLUSTERS, STOP_POLICY
from tidegate.model.quota import StopPolicy

Name = Annotated[str, typer.Argument(help="The MultiKueueCluster's or member's name.")]


def cordon(
    name: Name,
    *,
    dry: DryRunOption = DryRun.NONE,
    kubeconfig: KubeconfigOption = "",
    context: ContextOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Admit no new workloads in a cluster; its running workloads continue.

    Example:
      tidegate clusters cordon worker-1
    """
    _set_stop_policy(name, "Hold", "cordoned", dry, output, kubeconfig, context)


def drain(
    name: Name,
    *,
    dry: DryRunOption = DryRun.NONE,
    kubeconfig: KubeconfigOption = "",
    context: ContextOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Stop the workloads of a cluster; those of a worker are sent to other clusters.

    A cluster that does not answer keeps its workloads, because they cannot be stopped there.

    Example:
      tidegate clusters drain worker-1
    """
    _set_stop_policy(name, "HoldAndDrain", "drained", dry, output, kubeconfig, context)


def uncordon(
    name: Name,
    *,
    dry: DryRunOption = DryRun.NONE,
    kubeconfig: KubeconfigOption = "",
    context: ContextOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Send a cluster workloads again.

    Example:
      tidegate clusters uncordon worker-1
    """
    _set_stop_policy(name, None, "uncordoned", dry, output, kubeconfig, context)


def _set_stop_policy(  # noqa: PLR0913, PLR0917 - what every change needs
    name: str,
    policy: StopPolicy | None,
    done: str,
    dry: DryRun,
    output: Output,
    kubeconfig: str,
    context: str,
) -> None:
    check_name(name, "The cluster's name")
    with open_api(kubeconfig, context) as api:
        for path, note in _annotation_patches(api, name, policy):
            obj = patch_object(api, path, {"metadata": {"annotations": note}}, dry)
            print_done(obj, done, output, dry)


def _annotation_patches(
    api: ApiClient, name: str, policy: StopPolicy | None
) -> list[tuple[str, dict[str, Any]]]:
    """Return the paths of objects that say how a cluster stands, and the annotation of each.

    Raises:
        UnknownNameError: there is no such cluster.
    """
    path = f"/apis/{API_VERSION}/multikueueclusters/{name}"
    if api.find(path) is not None:
        return [(path, {STOP_POLICY: policy})]
    flavors = f"/apis/{API_VERSION}/resourceflavors"
    places = [
        (f"{flavors}/{flavor['metadata']['name']}", {CLUSTERS: text})
        for flavor in api.list_all(flavors)
        if (text := _stopped_clusters(flavor, name, policy or "None"))
    ]
    if not places:
        raise UnknownNameError(
            f"There is no MultiKueueCluster {name!r}, and no ResourceFlavor exists in a cluster of "
            "that name."
        )
    return places


def _stopped_clusters(flavor: Object, cluster: str, policy: StopPolicy) -> str:
    """Return where a flavor exists once a cluster has that policy; empty: not in that cluster.

    Raises:
        UndecodableError: what stands there now cannot be read.
    """
    notes = flavor["metadata"].get("annotations") or {}
    clusters, stops = clusters_of(ObjectMeta(annotations=notes))
    return clusters_text(clusters, {**stops, cluster: policy}) if cluster in clusters else ""

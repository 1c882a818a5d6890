"""``tidegate create``: a ClusterQueue, a LocalQueue or a ResourceFlavor from a command line."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tidegate.cli.objects.api_client import (
    ContextOption,
    KubeconfigOption,
    NamespaceOption,
    Object,
    open_api,
)
from tidegate.cli.objects.naming import CLUSTER_QUEUE, FLAVOR, LOCAL_QUEUE, Named, offer
from tidegate.cli.objects.printing import DryRun, DryRunOption, print_done
from tidegate.cli.objects.quotas import read_pairs, read_quotas, resource_groups
from tidegate.cli.objects.taints import read_taints, read_tolerations
from tidegate.cli.output import Output, OutputOption
from tidegate.errors import SettingsError

app = typer.Typer(help="Make a ClusterQueue, LocalQueue or ResourceFlavor.", no_args_is_help=True)
Name = Annotated[str, typer.Argument(help="Its name.")]


def cluster_queue(  # noqa: PLR0913 - each is an option
    name: Name,
    *,
    cohort: Annotated[str, typer.Option(help="The Cohort that it lends to and borrows in.")] = "",
    strategy: Annotated[
        str, typer.Option("--queuing-strategy", help="StrictFIFO or BestEffortFIFO.")
    ] = "BestEffortFIFO",
    namespace_selector: Annotated[
        str, typer.Option(help="Labels of the namespaces that may use it: k=v,…; default: all.")
    ] = "",
    reclaim: Annotated[
        str, typer.Option("--reclaim-within-cohort", help="Never, LowerPriority or Any.")
    ] = "Never",
    within: Annotated[
        str,
        typer.Option(
            "--preemption-within-cluster-queue",
            help="Never, LowerPriority or LowerOrNewerEqualPriority.",
        ),
    ] = "Never",
    nominal_quota: Annotated[
        str, typer.Option(help="flavor:resource=quantity;resource=quantity,flavor2:…")
    ] = "",
    borrowing_limit: Annotated[str, typer.Option(help="The same form; default: no limit.")] = "",
    lending_limit: Annotated[str, typer.Option(help="The same form; default: all of it.")] = "",
    dry: DryRunOption = DryRun.NONE,
    kubeconfig: KubeconfigOption = "",
    context: ContextOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Make a ClusterQueue.

    Examples:
      tidegate create clusterqueue team-a --cohort all --nominal-quota "default:cpu=8;memory=32Gi"

      tidegate create cq team-a --nominal-quota default:cpu=8 --dry-run client -o yaml
    """
    groups = resource_groups(
        read_quotas(nominal_quota, "--nominal-quota"),
        read_quotas(borrowing_limit, "--borrowing-limit"),
        read_quotas(lending_limit, "--lending-limit"),
    )
    labels = read_pairs(namespace_selector, "--namespace-selector")
    spec = {
        **({"cohortName": cohort} if cohort else {}),
        "queueingStrategy": strategy,
        "namespaceSelector": {"matchLabels": labels} if labels else {},
        "preemption": {"reclaimWithinCohort": reclaim, "withinClusterQueue": within},
        **({"resourceGroups": groups} if groups else {}),
    }
    _create(CLUSTER_QUEUE, _object(CLUSTER_QUEUE, name, spec), dry, output, kubeconfig, context)


def local_queue(  # noqa: PLR0913 - each is an option
    name: Name,
    *,
    target: Annotated[
        str, typer.Option("--clusterqueue", "-c", help="The ClusterQueue that it leads to.")
    ],
    ignore_unknown: Annotated[
        bool,
        typer.Option("--ignore-unknown-cq", "-i", help="Even if there is no such ClusterQueue."),
    ] = False,
    namespace: NamespaceOption = "default",
    dry: DryRunOption = DryRun.NONE,
    kubeconfig: KubeconfigOption = "",
    context: ContextOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Make a LocalQueue in a namespace.

    Examples:
      tidegate create localqueue main -c team-a -n a

      tidegate create lq main -c not-there-yet -i -n a
    """
    if not ignore_unknown and dry is not DryRun.CLIENT:
        with open_api(kubeconfig, context) as api:
            if api.find(CLUSTER_QUEUE.path(target)) is None:
                raise SettingsError(
                    f"There is no ClusterQueue {target}: see `tidegate list cq`, or give "
                    "--ignore-unknown-cq to make the LocalQueue before it."
                )
    found = _object(LOCAL_QUEUE, name, {"clusterQueue": target}, namespace)
    _create(LOCAL_QUEUE, found, dry, output, kubeconfig, context)


def resource_flavor(  # noqa: PLR0913 - each is an option
    name: Name,
    *,
    node_labels: Annotated[str, typer.Option(help="Labels of its nodes: k=v,…")] = "",
    node_taints: Annotated[str, typer.Option(help="Taints: key=value:effect,key:effect")] = "",
    tolerations: Annotated[
        str, typer.Option(help="What its pods tolerate: key=value:effect,key:effect,key")
    ] = "",
    dry: DryRunOption = DryRun.NONE,
    kubeconfig: KubeconfigOption = "",
    context: ContextOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Make a ResourceFlavor.

    Examples:
      tidegate create resourceflavor spot --node-labels cloud.example.com/spot=true

      tidegate create rf spot --node-taints spot=true:NoSchedule --tolerations spot=true:NoSchedule
    """
    spec = {
        "nodeLabels": read_pairs(node_labels, "--node-labels"),
        "nodeTaints": read_taints(node_taints, "--node-taints"),
        "tolerations": read_tolerations(tolerations, "--tolerations"),
    }
    given = {field: value for field, value in spec.items() if value}
    _create(FLAVOR, _object(FLAVOR, name, given), dry, output, kubeconfig, context)


def _object(named: Named, name: str, spec: dict[str, Any], namespace: str = "") -> Object:
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {
        "apiVersion": named.api_version,
        "kind": named.kind,
        "metadata": metadata,
        "spec": spec,
    }


def _create(  # noqa: PLR0913, PLR0917 - what every creation is told
    named: Named, found: Object, dry: DryRun, output: Output, kubeconfig: str, context: str
) -> None:
    if dry is not DryRun.CLIENT:
        path = named.path(namespace=found["metadata"].get("namespace", ""))
        query = {"fieldValidation": "Strict", **dry.query}
        with open_api(kubeconfig, context) as api:
            found = api.send("POST", path, found, query)
    print_done(found, "created", output, dry)


offer(app, CLUSTER_QUEUE, cluster_queue)
offer(app, LOCAL_QUEUE, local_queue)
offer(app, FLAVOR, resource_flavor)

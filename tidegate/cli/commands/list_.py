"""``tidegate list``: the cluster's queues, workloads, flavors and pods, by selectors."""

from __future__ import annotations

from typing import Annotated

import typer

from tidegate.cli.objects import rows
from tidegate.cli.objects.api_client import ContextOption, KubeconfigOption, Object, open_api
from tidegate.cli.objects.naming import CLUSTER_QUEUE, FLAVOR, LOCAL_QUEUE, WORKLOAD, Named, offer
from tidegate.cli.objects.owners import Wanted, owned_by, pod_selection, read_wanted
from tidegate.cli.objects.positions import positions
from tidegate.cli.objects.printing import print_objects, typed
from tidegate.cli.output import Output, OutputOption
from tidegate.cli.reading import LedgerOption

app = typer.Typer(
    help="List ClusterQueues, LocalQueues, Workloads, ResourceFlavors or pods.",
    no_args_is_help=True,
)
Labels = Annotated[str, typer.Option("--selector", "-l", help="Only with these labels: k=v,k!=v.")]
Fields = Annotated[
    str, typer.Option("--field-selector", help="Only with these fields: metadata.name=x.")
]
Namespace = Annotated[str, typer.Option("--namespace", "-n", help="Of this namespace.")]
Everywhere = Annotated[bool, typer.Option("--all-namespaces", "-A", help="Of every namespace.")]
ForOption = Annotated[
    str, typer.Option("--for", metavar="TYPE[.GROUP]/NAME", help="Only of this job: job/train.")
]
STATUSES = ("all", "pending", "quotareserved", "admitted", "finished")


def cluster_queues(  # noqa: PLR0913 - each is an option
    *,
    active: Annotated[
        str, typer.Option(help="true: only those that admit; false: those that do not.")
    ] = "",
    labels: Labels = "",
    fields: Fields = "",
    kubeconfig: KubeconfigOption = "",
    context: ContextOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """List the ClusterQueues of the cluster.

    Examples:
      tidegate list clusterqueue

      tidegate list cq --active false -o name
    """
    if active not in {"", "true", "false"}:
        raise typer.BadParameter(f"--active {active!r} is neither true nor false.")
    found = _read(CLUSTER_QUEUE, "", labels, fields, kubeconfig, context)
    shown = [one for one in found if active in {"", str(rows.is_active(one)).lower()}]
    print_objects(shown, rows.cluster_queue, rows.CLUSTER_QUEUES, output, "No ClusterQueue.")


def local_queues(  # noqa: PLR0913 - each is an option
    *,
    target: Annotated[
        str, typer.Option("--clusterqueue", "-c", help="Only those that lead to it.")
    ] = "",
    namespace: Namespace = "default",
    everywhere: Everywhere = False,
    labels: Labels = "",
    fields: Fields = "",
    kubeconfig: KubeconfigOption = "",
    context: ContextOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """List the LocalQueues of a namespace.

    Examples:
      tidegate list localqueue -n a

      tidegate list lq -A -c team-a
    """
    within = "" if everywhere else namespace
    found = _read(LOCAL_QUEUE, within, labels, fields, kubeconfig, context)
    shown = [one for one in found if target in {"", one["spec"].get("clusterQueue")}]
    columns = rows.spaced(rows.LOCAL_QUEUES, everywhere=everywhere)
    print_objects(shown, rows.local_queue, columns, output, "No LocalQueue.")


def workloads(  # noqa: PLR0913 - each is an option
    *,
    target: Annotated[
        str, typer.Option("--clusterqueue", "-c", help="Only of this ClusterQueue.")
    ] = "",
    queue: Annotated[str, typer.Option("--localqueue", "-q", help="Only of this LocalQueue.")] = "",
    status: Annotated[
        str, typer.Option(help=f"Only these, with commas: {', '.join(STATUSES)}.")
    ] = "all",
    of: ForOption = "",
    namespace: Namespace = "default",
    everywhere: Everywhere = False,
    labels: Labels = "",
    fields: Fields = "",
    ledger: LedgerOption = "",
    kubeconfig: KubeconfigOption = "",
    context: ContextOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """List the Workloads of a namespace, with their jobs and how far they are.

    The position is that in the ClusterQueue, from 1, as the ledger says; without a ledger it is
    left out.

    Examples:
      tidegate list workload -n a

      tidegate list wl -A --status pending,quotareserved

      tidegate list wl -n a --for job/train -o yaml
    """
    wanted = _statuses(status)
    job = read_wanted(of) if of else None
    with open_api(kubeconfig, context) as api:
        within = "" if everywhere else namespace
        listed = api.every(WORKLOAD.path(namespace=within), labels, fields)
        queues = api.every(LOCAL_QUEUE.path(namespace=within))
    leads = {(one["metadata"]["namespace"], one["metadata"]["name"]): one for one in queues}
    shown = [
        one
        for one in typed(listed, WORKLOAD.api_version, WORKLOAD.kind)
        if queue in {"", one["spec"].get("queueName")}
        and target in {"", rows.queue_of(one, leads)}
        and ("all" in wanted or rows.status_of(one) in wanted)
        and (job is None or owned_by(one, job))
    ]
    where = positions(ledger)
    print_objects(
        shown,
        lambda one: rows.workload(one, leads, where),
        rows.spaced(rows.WORKLOADS, everywhere=everywhere),
        output,
        "No such Workload.",
    )


def flavors(
    *,
    labels: Labels = "",
    fields: Fields = "",
    kubeconfig: KubeconfigOption = "",
    context: ContextOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """List the ResourceFlavors of the cluster.

    Examples:
      tidegate list resourceflavor

      tidegate list rf -l team=a -o name
    """
    found = _read(FLAVOR, "", labels, fields, kubeconfig, context)
    print_objects(found, rows.flavor, rows.FLAVORS, output, "No ResourceFlavor.")


def pods(  # noqa: PLR0913 - each is an option
    *,
    of: Annotated[
        str, typer.Option("--for", metavar="TYPE[.GROUP]/NAME", help="Of this job: job/train.")
    ],
    namespace: Namespace = "default",
    everywhere: Everywhere = False,
    labels: Labels = "",
    kubeconfig: KubeconfigOption = "",
    context: ContextOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """List the pods of a job.

    Examples:
      tidegate list pods --for job/train -n a

      tidegate list pods --for jobset.jobset.x-k8s.io/sweep -n a -o name
    """
    wanted = read_wanted(of)
    found = _pods(wanted, "" if everywhere else namespace, labels, kubeconfig, context)
    columns = rows.spaced(rows.PODS, everywhere=everywhere)
    print_objects(found, rows.pod, columns, output, f"No pod of {of}.")


def _pods(
    wanted: Wanted, namespace: str, labels: str, kubeconfig: str, context: str
) -> list[Object]:
    label, field = pod_selection(wanted)
    selector = ",".join(filter(None, (label, labels)))
    path = f"/api/v1/namespaces/{namespace}/pods" if namespace else "/api/v1/pods"
    with open_api(kubeconfig, context) as api:
        return typed(api.every(path, selector, field), "v1", "Pod")


def _read(  # noqa: PLR0913, PLR0917 - what every list is told
    named: Named, namespace: str, labels: str, fields: str, kubeconfig: str, context: str
) -> list[Object]:
    with open_api(kubeconfig, context) as api:
        found = api.every(named.path(namespace=namespace), labels, fields)
    return typed(found, named.api_version, named.kind)


def _statuses(text: str) -> set[str]:
    wanted = {one.strip().lower() for one in text.split(",")}
    if unknown := sorted(wanted.difference(STATUSES)):
        raise typer.BadParameter(f"--status {', '.join(unknown)}: there are {', '.join(STATUSES)}.")
    return wanted


offer(app, CLUSTER_QUEUE, cluster_queues)
offer(app, LOCAL_QUEUE, local_queues)
offer(app, WORKLOAD, workloads)
offer(app, FLAVOR, flavors)
app.command("pods")(pods)
app.command("pod", hidden=True)(pods)
app.command("po", hidden=True)(pods)

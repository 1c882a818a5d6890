"""``tidegate delete``: Workloads with the jobs behind them, queues and flavors."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import typer

from tidegate.cli.objects.api_client import (
    Asking,
    ContextOption,
    KubeconfigOption,
    NamespaceOption,
    Object,
    open_api,
)
from tidegate.cli.objects.naming import CLUSTER_QUEUE, FLAVOR, LOCAL_QUEUE, WORKLOAD, Named, offer
from tidegate.cli.objects.owners import workload_named
from tidegate.cli.objects.printing import DryRun, DryRunOption, full_name, print_done, typed
from tidegate.cli.output import Output, OutputOption, say
from tidegate.errors import ApiStatusError

app = typer.Typer(help="Delete Workloads with their jobs, queues or flavors.", no_args_is_help=True)
Names = Annotated[list[str], typer.Argument(help="Their names.")]
_GONE = 404


class _Doomed(NamedTuple):
    """An object that is to go, and where it is."""

    path: str
    found: Object


def workloads(  # noqa: PLR0913 - each is an option
    names: Annotated[list[str] | None, typer.Argument(help="Their names, or job/NAME.")] = None,
    *,
    everything: Annotated[bool, typer.Option("--all", help="All of the namespace.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    namespace: NamespaceOption = "default",
    dry: DryRunOption = DryRun.NONE,
    kubeconfig: KubeconfigOption = "",
    context: ContextOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Delete Workloads and the jobs behind them, after it was said which and confirmed.

    A Workload alone would be made again by its job.

    Examples:
      tidegate delete workload job/train -n a

      tidegate delete wl --all --yes -n a --dry-run server
    """
    if bool(names) == everything:
        raise typer.BadParameter("Name Workloads, or give --all for those of the namespace.")
    with open_api(kubeconfig, context) as api:
        found = _workloads(api, names or [], namespace)
        jobs = _jobs(api, found)
        if jobs and not yes and dry is DryRun.NONE:
            _confirm(jobs)
        _delete(api, [*jobs, *found], dry, output)


def cluster_queues(
    names: Names,
    *,
    dry: DryRunOption = DryRun.NONE,
    kubeconfig: KubeconfigOption = "",
    context: ContextOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Delete ClusterQueues; one goes once nobody holds its quota any more.

    Example:
      tidegate delete clusterqueue team-a team-b
    """
    with open_api(kubeconfig, context) as api:
        _delete(api, _named(api, CLUSTER_QUEUE, names), dry, output)


def local_queues(  # noqa: PLR0913 - each is an option
    names: Names,
    *,
    namespace: NamespaceOption = "default",
    dry: DryRunOption = DryRun.NONE,
    kubeconfig: KubeconfigOption = "",
    context: ContextOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Delete LocalQueues; what waits in one waits without a queue then.

    Example:
      tidegate delete localqueue main -n a
    """
    with open_api(kubeconfig, context) as api:
        _delete(api, _named(api, LOCAL_QUEUE, names, namespace), dry, output)


def flavors(
    names: Names,
    *,
    dry: DryRunOption = DryRun.NONE,
    kubeconfig: KubeconfigOption = "",
    context: ContextOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Delete ResourceFlavors.

    Example:
      tidegate delete resourceflavor spot
    """
    with open_api(kubeconfig, context) as api:
        _delete(api, _named(api, FLAVOR, names), dry, output)


def _named(api: Asking, kind: Named, names: list[str], namespace: str = "") -> list[_Doomed]:
    paths = [kind.path(name, namespace) for name in names]
    return [_Doomed(path, api.send("GET", path)) for path in paths]


def _workloads(api: Asking, names: list[str], namespace: str) -> list[_Doomed]:
    if names:
        meant = [workload_named(api, name, namespace) for name in names]
        return _named(api, WORKLOAD, meant, namespace)
    listed = api.every(WORKLOAD.path(namespace=namespace))
    found = typed(listed, WORKLOAD.api_version, WORKLOAD.kind)
    return [_Doomed(WORKLOAD.path(one["metadata"]["name"], namespace), one) for one in found]


def _jobs(api: Asking, found: list[_Doomed]) -> list[_Doomed]:
    """Return the owners of Workloads that are there, each once."""
    jobs = dict[str, _Doomed]()
    for one in found:
        metadata = one.found["metadata"]
        for owner in metadata.get("ownerReferences") or ():
            version, kind, name = owner["apiVersion"], owner["kind"], owner["name"]
            path = api.place(version, kind, metadata["namespace"], name)
            job = api.find(path)
            if job is not None and job["metadata"]["uid"] == owner["uid"]:
                jobs[path] = _Doomed(path, job)
    return list(jobs.values())


def _confirm(jobs: list[_Doomed]) -> None:
    say("This deletes the jobs behind them, too:")
    for job in jobs:
        say(f"  {full_name(job.found)}")
    typer.confirm("Do you want to proceed?", abort=True, err=True)


def _delete(api: Asking, doomed: list[_Doomed], dry: DryRun, output: Output) -> None:
    for one in doomed:
        # A Workload goes with its job; whoever was faster is not an error.
        if dry is not DryRun.CLIENT:
            try:
                api.send("DELETE", one.path, _options(one, dry), dry.query)
            except ApiStatusError as error:
                if error.status != _GONE:
                    raise
        print_done(one.found, "deleted", output, dry)


def _options(one: _Doomed, dry: DryRun) -> Object:
    """Return a deletion's options: an API server that gets any in the body reads no query."""
    chosen: Object = {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "propagationPolicy": "Background",
        "preconditions": {"uid": one.found["metadata"]["uid"]},
    }
    return chosen | ({"dryRun": ["All"]} if dry is DryRun.SERVER else {})


offer(app, WORKLOAD, workloads)
offer(app, CLUSTER_QUEUE, cluster_queues)
offer(app, LOCAL_QUEUE, local_queues)
offer(app, FLAVOR, flavors)

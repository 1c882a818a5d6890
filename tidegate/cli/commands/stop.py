"""``tidegate stop`` and ``tidegate resume``: hold or drain queues and workloads; resume them."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tidegate.cli.objects.api_client import (
    ContextOption,
    KubeconfigOption,
    NamespaceOption,
    open_api,
)
from tidegate.cli.objects.naming import (
    CLUSTER_QUEUE,
    LOCAL_QUEUE,
    WORKLOAD,
    CommandKind,
    KindGroup,
    add_kind_command,
    check_name,
    find_workload_name,
)
from tidegate.cli.objects.patching import DryRun, DryRunOption, patch_object, print_done
from tidegate.cli.output import Output, OutputOption
from tidegate.errors import ApiStatusError, UnknownNameError

stopping = typer.Typer(
    cls=KindGroup, help="Hold a ClusterQueue, LocalQueue or Workload back.", no_args_is_help=True
)
resuming = typer.Typer(
    cls=KindGroup,
    help="Let a stopped ClusterQueue, LocalQueue or Workload go on.",
    no_args_is_help=True,
)
Name = Annotated[str, typer.Argument(help="Its name.")]
WorkloadName = Annotated[str, typer.Argument(help="Its name, or job/NAME.")]
Keep = Annotated[
    bool,
    typer.Option(
        "--keep-already-running", help="Stop only new workloads; running workloads keep running."
    ),
]


def stop_cluster_queue(  # noqa: PLR0913 - each is an option
    name: Name,
    *,
    keep: Keep = False,
    dry: DryRunOption = DryRun.NONE,
    kubeconfig: KubeconfigOption = "",
    context: ContextOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Stop a ClusterQueue: no workload starts, and running workloads are stopped and wait again.

    Examples:
      tidegate stop clusterqueue team-a

      tidegate stop cq/team-a --keep-already-running --dry-run server
    """
    change = _SpecChange(CLUSTER_QUEUE, {"stopPolicy": _stop_policy(keep=keep)}, "stopped")
    change.apply(name, "", dry, output, kubeconfig, context)


def stop_local_queue(  # noqa: PLR0913 - each is an option
    name: Name,
    *,
    keep: Keep = False,
    namespace: NamespaceOption = "default",
    dry: DryRunOption = DryRun.NONE,
    kubeconfig: KubeconfigOption = "",
    context: ContextOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Stop a LocalQueue: no workload starts, and running workloads are stopped and wait again.

    Examples:
      tidegate stop localqueue main -n a

      tidegate stop lq main -n a --keep-already-running
    """
    change = _SpecChange(LOCAL_QUEUE, {"stopPolicy": _stop_policy(keep=keep)}, "stopped")
    change.apply(name, namespace, dry, output, kubeconfig, context)


def stop_workload(  # noqa: PLR0913 - each is an option
    name: WorkloadName,
    *,
    namespace: NamespaceOption = "default",
    dry: DryRunOption = DryRun.NONE,
    kubeconfig: KubeconfigOption = "",
    context: ContextOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Stop a Workload: its job is suspended and not queued until you resume it.

    Example:
      tidegate stop workload job/train -n a
    """
    change = _SpecChange(WORKLOAD, {"active": False}, "stopped")
    change.apply(name, namespace, dry, output, kubeconfig, context)


def resume_cluster_queue(
    name: Name,
    *,
    dry: DryRunOption = DryRun.NONE,
    kubeconfig: KubeconfigOption = "",
    context: ContextOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Let a stopped ClusterQueue admit workloads again.

    Example:
      tidegate resume clusterqueue team-a
    """
    change = _SpecChange(CLUSTER_QUEUE, {"stopPolicy": "None"}, "resumed")
    change.apply(name, "", dry, output, kubeconfig, context)


def resume_local_queue(  # noqa: PLR0913 - each is an option
    name: Name,
    *,
    namespace: NamespaceOption = "default",
    dry: DryRunOption = DryRun.NONE,
    kubeconfig: KubeconfigOption = "",
    context: ContextOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Let the workloads of a stopped LocalQueue start again.

    Example:
      tidegate resume localqueue main -n a
    """
    change = _SpecChange(LOCAL_QUEUE, {"stopPolicy": "None"}, "resumed")
    change.apply(name, namespace, dry, output, kubeconfig, context)


def resume_workload(  # noqa: PLR0913 - each is an option
    name: WorkloadName,
    *,
    namespace: NamespaceOption = "default",
    dry: DryRunOption = DryRun.NONE,
    kubeconfig: KubeconfigOption = "",
    context: ContextOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Queue a stopped Workload again.

    Example:
      tidegate resume workload job/train -n a
    """
    change = _SpecChange(WORKLOAD, {"active": True}, "resumed")
    change.apply(name, namespace, dry, output, kubeconfig, context)


class _SpecChange:
    """A change of some fields of a spec."""

    def __init__(self, named: CommandKind, spec: dict[str, Any], done: str) -> None:
        self._named, self._spec, self._done = named, spec, done

    def apply(  # noqa: PLR0913, PLR0917 - what every change needs
        self, name: str, namespace: str, dry: DryRun, output: Output, kubeconfig: str, context: str
    ) -> None:
        if self._named.namespaced:
            check_name(namespace, "The namespace")
        if self._named is not WORKLOAD or "/" not in name:
            check_name(name, f"The {self._named.kind}'s name")
        with open_api(kubeconfig, context) as api:
            if self._named is WORKLOAD:
                name = find_workload_name(api, name, namespace)
            path = self._named.path(name, namespace)
            try:
                obj = patch_object(api, path, {"spec": self._spec}, dry)
            except ApiStatusError as error:
                if f'"{name}" not found' not in error.message:
                    raise  # the kind is not served, or the change is refused
                raise UnknownNameError(self._not_found_message(name, namespace)) from error
        print_done(obj, self._done, output, dry)

    def _not_found_message(self, name: str, namespace: str) -> str:
        named = self._named
        where, every = (
            (f" in namespace {namespace}", " --all-namespaces") if named.namespaced else ("", "")
        )
        return (
            f"There is no {named.kind} {name}{where}: kubectl get {named.plural}{every} lists them."
        )


def _stop_policy(*, keep: bool) -> str:
    return "Hold" if keep else "HoldAndDrain"


for _named, _stop, _resume in (
    (CLUSTER_QUEUE, stop_cluster_queue, resume_cluster_queue),
    (LOCAL_QUEUE, stop_local_queue, resume_local_queue),
    (WORKLOAD, stop_workload, resume_workload),
):
    add_kind_command(stopping, _named, _stop)
    add_kind_command(resuming, _named, _resume)

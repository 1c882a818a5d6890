"""``tidegate version``: of this command line, of the API server, and of what runs there."""

from __future__ import annotations

from importlib.metadata import version as version_of
from typing import Annotated, Any

import typer

from tidegate.cli.objects.api_client import Asking, ContextOption, KubeconfigOption, open_api
from tidegate.cli.output import Output, OutputOption, print_record
from tidegate.errors import ApiStatusError, ApiUnreachableError, NotSupportedError

_DEPLOYMENTS = "/apis/apps/v1/deployments"
_OURS = "app.kubernetes.io/part-of=tidegate"


def version(
    *,
    client: Annotated[bool, typer.Option("--client", help="Ask no API server.")] = False,
    kubeconfig: KubeconfigOption = "",
    context: ContextOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Print the versions of this command, of Kubernetes, and the images of the services.

    Examples:
      tidegate version

      tidegate version --client -o json
    """
    found: dict[str, Any] = {"client": version_of("tidegate")}
    if not client:
        try:
            with open_api(kubeconfig, context) as api:
                found |= _server(api)
        except (ApiUnreachableError, NotSupportedError) as error:
            found["kubernetes"] = f"not reached: {error}"
    print_record(found, output, name="client")


def _server(api: Asking) -> dict[str, Any]:
    told = {"kubernetes": api.send("GET", "/version")["gitVersion"]}
    try:
        running = api.every(_DEPLOYMENTS, _OURS)
    except ApiStatusError as error:
        return {**told, "images": f"not told: {error}"}
    images = {
        container["image"]
        for one in running
        for container in one["spec"]["template"]["spec"]["containers"]
    }
    return {**told, "images": ", ".join(sorted(images)) or "none: Tidegate does not run there"}

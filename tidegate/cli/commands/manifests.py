"""``tidegate manifests``: what a cluster needs for the job kinds that a configuration enables."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import Annotated

import typer

from tidegate.generate.documents import as_yaml
from tidegate.jobs.registry import check_frameworks, is_supported
from tidegate.kinds.manifests import policies
from tidegate.kinds.policies.disabled import DENY, WARN
from tidegate.kinds.policies.forms import Manifest
from tidegate.kinds.policies.jobs import Managed
from tidegate.kinds.policies.webhooks import with_webhook
from tidegate.kinds.rights import kind_roles
from tidegate.service.config.configuration import Configuration, read_configuration


class Admission(StrEnum):
    """The admission that mutates jobs and queues when they are created."""

    POLICIES = "policies"
    WEBHOOK = "webhook"


def manifests(
    config: Annotated[
        str, typer.Option("--config", help="Kueue's Configuration file.", metavar="FILE")
    ] = "",
    admission: Annotated[
        Admission,
        typer.Option(help="webhook: for Kubernetes before 1.36, which has no mutating policies"),
    ] = Admission.POLICIES,
) -> None:
    """Print admission policies and roles for the enabled job kinds; apply the CRDs first.

    Examples:
      tidegate manifests --config kueue.yaml | kubectl apply -f -

      tidegate manifests --config kueue.yaml --admission webhook | kubectl apply -f -
    """
    objects = manifests_of_file(config)
    sys.stdout.write(as_yaml(with_webhook(objects) if admission is Admission.WEBHOOK else objects))


def manifests_of_file(config: str) -> list[Manifest]:
    """Return the manifests for what a configuration enables and Tidegate supports.

    Raises:
        SettingsError: it cannot be read, or says what makes no sense.
        NotSupportedError: it enables a kind that there is not.
    """
    configuration = read_configuration(config)
    check_frameworks(configuration.frameworks)
    return manifests_of_configuration(configuration)


def manifests_of_configuration(configuration: Configuration) -> list[Manifest]:
    """Return the manifests of a configuration: policies, and rights over the enabled kinds."""
    frameworks = tuple(name for name in configuration.frameworks if is_supported(name))
    devices = bool(configuration.device_classes)
    roles = kind_roles(frameworks, configuration.declared, devices=devices)
    managed = Managed(
        without_queue=configuration.policy.manage_jobs_without_queue_name,
        namespaces=configuration.namespaces,
    )
    on_disabled = DENY if configuration.denies_disabled_kinds else WARN
    objects = policies(frameworks, configuration.declared, managed, on_disabled)
    return [*objects, *roles]

"""Kueue's own Configuration file, ``config.kueue.x-k8s.io`` v1beta1 and v1beta2, as a Policy.

Fields without a use in Tidegate (webhooks, leader election, …) give a warning that names the
replacement; fields that it does not support are refused, and so are unknown ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from tidegate.errors import SettingsError, reason_of
from tidegate.model.declaration import Declaration
from tidegate.model.podset import LabelSelector
from tidegate.model.policy import (
    DEFAULT_STRATEGIES,
    AdmissionFairSharing,
    Policy,
    Strategy,
)
from tidegate.service.config.configuration_file import ConfigurationFile
from tidegate.service.config.durations import default_us, duration_us, optional_us
from tidegate.service.config.gates import check_gates, is_open
from tidegate.service.config.local_queue_metrics import (
    LocalQueueMetrics,
    local_queue_metrics,
)
from tidegate.service.config.multikueue import (
    DispatcherOptions,
    dispatcher_options,
    multikueue_policy,
)
from tidegate.service.config.namespaces import managed_namespaces
from tidegate.service.config.pods_ready import is_v1beta1, pods_ready
from tidegate.service.config.resources import device_classes, ignores_undeclared, transformations
from tidegate.service.config.yaml_documents import parse_yaml

GROUP = "config.kueue.x-k8s.io/"
CHARACTERS_MAX = 2**20
"""What a ConfigMap holds."""
DEFAULT_FRAMEWORKS = ("batch/job",)
ELASTIC_GATE, SPARK_GATE = "ElasticJobsViaWorkloadSlices", "SparkApplicationIntegration"
ORCHESTRATED_GATE = "MultiKueueOrchestratedPreemption"
_SPARK = "sparkoperator.k8s.io/sparkapplication"
THROUGH_PODS = ("deployment", "statefulset", "leaderworkerset.x-k8s.io/leaderworkerset")
"""Kinds that are queued through their pods."""
UNUSED = {
    "webhook": "admission policies in the API server do what webhooks did",
    "leaderElection": "the ledger's lease decides which scheduler leads; see --lease-s",
    "health": "see --health-host and --health-port",
    "pprofBindAddress": "there is no profiler to serve",
    "controller": "there are no controllers whose concurrency could be set",
    "tls": "metrics are served without TLS",
    "internalCertManagement": "there are no webhooks that need certificates",
    "clientConnection": "the actuator bounds its own requests",
    "visibilityServer": "tidegate show queues shows what it served",
    "queueVisibility": "tidegate show queues shows what it kept",
}


class Configuration(msgspec.Struct, frozen=True, kw_only=True):
    """What was configured, and what of it is not used."""

    policy: Policy
    frameworks: tuple[str, ...] = DEFAULT_FRAMEWORKS  # job kinds by Kueue's names
    namespaces: LabelSelector | None = None  # managedJobsNamespaceSelector; None: not given
    declared: tuple[Declaration, ...] = ()  # those of integrations.externalFrameworks
    denies_disabled_kinds: bool = False  # tidegate.dev.disabledKinds is Deny
    multikueue: DispatcherOptions = DispatcherOptions()
    elastic: bool = True  # the gate ElasticJobsViaWorkloadSlices is open
    device_classes: dict[str, str] = {}  # to the resource that each is charged as
    label_keys_to_copy: tuple[str, ...] = ()
    resource_metrics: bool = False  # metrics.enableClusterQueueResources
    local_queue_metrics: LocalQueueMetrics = LocalQueueMetrics()
    warnings: tuple[str, ...] = ()

    @property
    def multikueue_kinds(self) -> tuple[str, ...]:
        """Return the job kinds that go to worker clusters."""
        return () if self.policy.multikueue is None else self.policy.multikueue.kinds


def read_configuration(path: str) -> Configuration:
    """Read a file; an empty path gives Kueue's defaults.

    Raises:
        SettingsError: it cannot be read, or has invalid or unsupported fields.
    """
    if not path:
        return parse_configuration(f"apiVersion: {GROUP}v1beta2\nkind: Configuration\n")
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(
            f"The configuration {path} cannot be read: {reason_of(error)}."
        ) from error
    try:
        return parse_configuration(text)
    except SettingsError as error:
        raise SettingsError(f"In {path}: {error}") from error


def parse_configuration(text: str) -> Configuration:
    """Read a Configuration from YAML; see ``read_configuration``."""
    try:
        document = _without_nulls(msgspec.convert(_only_document(text), dict[str, Any]))
        file = msgspec.convert(document, ConfigurationFile)
    except ValueError as error:
        raise SettingsError(str(error).replace("`$.", "`")) from error
    if file.api_version not in (GROUP + "v1beta1", GROUP + "v1beta2"):
        raise SettingsError(f"apiVersion {file.api_version} is neither {GROUP}v1beta1 nor v1beta2.")
    integrations = file.integrations
    if file.metrics.custom_labels:
        raise SettingsError("metrics.customLabels is not supported.")
    return Configuration(
        policy=_policy(file),
        multikueue=dispatcher_options(file),
        frameworks=_frameworks(integrations.frameworks, file.feature_gates),
        declared=tuple(_declared_kinds(file)),
        denies_disabled_kinds=file.tidegate.disabled_kinds == "Deny",
        elastic=is_open(file.feature_gates, ELASTIC_GATE),
        device_classes=device_classes(file.resources),
        namespaces=managed_namespaces(file),
        label_keys_to_copy=integrations.label_keys_to_copy,
        resource_metrics=file.metrics.enable_cluster_queue_resources,
        local_queue_metrics=local_queue_metrics(file),
        warnings=(*_warnings(document), *_partly_heeded(file)),
    )


def _without_nulls(document: dict[str, Any]) -> dict[str, Any]:
    """Leave out fields with nothing behind them, in sections too: Kueue takes them for absent."""
    return {
        key: _without_nulls(value) if isinstance(value, dict) else value
        for key, value in document.items()
        if value is not None
    }


def _only_document(text: str) -> object:
    if len(text) > CHARACTERS_MAX:
        raise SettingsError(f"{len(text)} characters: at most {CHARACTERS_MAX} are read.")
    document, *others = parse_yaml(text, "it") or [None]
    if others:
        raise SettingsError("it has more than one document.")
    return document


def _warnings(document: dict[str, Any]) -> Iterator[str]:
    for field, instead in UNUSED.items():
        if document.get(field) is not None:
            yield f"{field} is not used: {instead}."
    if "podOptions" in (document.get("integrations") or {}):
        yield "integrations.podOptions is not used: see managedJobsNamespaceSelector."


def _partly_heeded(file: ConfigurationFile) -> Iterator[str]:
    if file.multi_kueue is not None and is_open(file.feature_gates, ORCHESTRATED_GATE):
        yield (
            f"featureGates.{ORCHESTRATED_GATE} is not used for what is sent to worker clusters:"
            " copies get no preemption gates (docs/multikueue.md)."
        )


def _frameworks(named: tuple[str, ...], gates: dict[str, bool]) -> tuple[str, ...]:
    """Return the enabled kinds: some imply the kind ``pod``, and one needs its feature gate."""
    if len(set(named)) < len(named):
        raise SettingsError("integrations.frameworks: each kind at most once.")
    if _SPARK in named and not is_open(gates, SPARK_GATE):
        raise SettingsError(
            f"integrations.frameworks: {_SPARK} needs featureGates: {{{SPARK_GATE}: true}}."
        )
    implied = () if "pod" in named or not set(THROUGH_PODS) & set(named) else ("pod",)
    return (*named, *implied) or DEFAULT_FRAMEWORKS


def _declared_kinds(file: ConfigurationFile) -> Iterator[Declaration]:
    by_name = {kind.name: kind for kind in file.tidegate.kinds}
    for name in dict.fromkeys(file.integrations.external_frameworks):
        if name not in by_name:
            raise SettingsError(
                f"integrations.externalFrameworks: {name} is declared nowhere: say in"
                " tidegate.dev.kinds where its objects keep what (docs/kinds.md)."
            )
        yield by_name[name]


def _policy(file: ConfigurationFile) -> Policy:
    retention, resources = file.object_retention_policies.workloads, file.resources
    return Policy(
        fair_sharing=_preemption_strategies(file),
        admission_fair_sharing=_admission_fair_sharing(file),
        pods_ready=pods_ready(file),
        gates=check_gates(file.feature_gates),
        exclude_resource_prefixes=resources.exclude_resource_prefixes,
        transformations=transformations(resources),
        ignore_undeclared=ignores_undeclared(resources, file.feature_gates),
        manage_jobs_without_queue_name=file.manage_jobs_without_queue_name,
        multikueue=multikueue_policy(file),
        retain_finished_us=optional_us(retention.after_finished, "afterFinished"),
        retain_deactivated_us=optional_us(
            retention.after_deactivated_by_kueue, "afterDeactivatedByKueue"
        ),
    )


def _preemption_strategies(file: ConfigurationFile) -> tuple[Strategy, ...]:
    section = file.fair_sharing
    if section is None or (is_v1beta1(file) and not section.enable):
        return ()
    strategies = section.preemption_strategies or DEFAULT_STRATEGIES
    if strategies not in (DEFAULT_STRATEGIES, DEFAULT_STRATEGIES[:1], DEFAULT_STRATEGIES[1:]):
        raise SettingsError(
            "fairSharing.preemptionStrategies: LessThanOrEqualToFinalShare, LessThanInitialShare, "
            "or both in this order."
        )
    return strategies


def _admission_fair_sharing(file: ConfigurationFile) -> AdmissionFairSharing | None:
    """Return how usage is shared; None: not configured, or its gate is closed."""
    section = file.admission_fair_sharing
    if section is None:
        return None
    where = "admissionFairSharing.usage"
    every_us = default_us(section.usage_sampling_interval, where + "SamplingInterval", "5m")
    sharing = AdmissionFairSharing(
        half_life_us=duration_us(section.usage_half_life_time, where + "HalfLifeTime"),
        sampling_interval_us=every_us,
        resource_weights={name: str(value) for name, value in section.resource_weights.items()},
    )
    return sharing if is_open(file.feature_gates, "AdmissionFairSharing") else None

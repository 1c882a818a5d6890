"""The section ``multiKueue`` of the Configuration: how workloads go to worker clusters.

Source: multikueue.md 4.
"""

from __future__ import annotations

import re

import msgspec

from tidegate.errors import SettingsError
from tidegate.model.multikueue import (
    ADAPTERS,
    ALL_AT_ONCE,
    INCREMENTAL,
    Dispatcher,
    MultiKueuePolicy,
)
from tidegate.service.config.access_providers import AccessProvider
from tidegate.service.config.configuration_file import (
    ClusterProfileSection,
    ConfigurationFile,
    MultiKueueSection,
)
from tidegate.service.config.durations import duration_us
from tidegate.service.config.gates import is_open

ORIGIN = "multikueue"
_OTHERS, _PROFILES = "MultiKueueAdaptersForCustomJobs", "MultiKueueClusterProfile"
_STEPS = "MultiKueueIncrementalDispatcherConfig"
_WITH = {"pod": ("pod", "pod-group")}
_LABEL = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)")
_STEP = 3
_DISPATCHERS: dict[str, Dispatcher] = {
    "": "AllAtOnce",
    ALL_AT_ONCE: "AllAtOnce",
    INCREMENTAL: "Incremental",
}


class DispatcherOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the dispatcher alone has to know."""

    origin: str = ORIGIN  # marks what was sent from here
    gc_interval_s: float = 60.0  # how often copies left behind are looked for; 0: never
    providers: tuple[AccessProvider, ...] | None = None
    """The plugins for ClusterProfiles; None: the gate MultiKueueClusterProfile is closed."""


def dispatcher_options(file: ConfigurationFile) -> DispatcherOptions:
    """Return what the dispatcher has to know.

    Raises:
        SettingsError: it cannot be.
    """
    section = file.multi_kueue
    if section is None:
        return DispatcherOptions()
    origin = section.origin or ORIGIN
    if _LABEL.fullmatch(origin) is None:
        raise SettingsError(f"multiKueue.origin: {origin!r} is no value of a label.")
    providers = _providers(section.cluster_profile)
    every_us = duration_us(section.gc_interval, "multiKueue.gcInterval")
    return DispatcherOptions(
        origin=origin,
        gc_interval_s=every_us / 1_000_000,
        providers=providers if is_open(file.feature_gates, _PROFILES) else None,
    )


def _providers(section: ClusterProfileSection) -> tuple[AccessProvider, ...]:
    if section.access_providers and section.credentials_providers:
        raise SettingsError(
            "multiKueue.clusterProfile has accessProviders and credentialsProviders: the second is "
            "the older name of the first; name all under accessProviders."
        )
    return section.access_providers or section.credentials_providers


def multikueue_policy(file: ConfigurationFile) -> MultiKueuePolicy | None:
    """Return how workloads are sent; None: not configured, so none is.

    Raises:
        SettingsError: what is asked for is not supported.
    """
    section = file.multi_kueue
    if section is None or not is_open(file.feature_gates, "MultiKueue"):
        return None
    dispatcher = _DISPATCHERS.get(section.dispatcher_name, "External")
    lost_us = duration_us(section.worker_lost_timeout, "multiKueue.workerLostTimeout")
    return MultiKueuePolicy(
        dispatcher=dispatcher,
        step=_step_size(file, section, dispatcher),
        worker_lost_us=lost_us,
        kinds=(
            *_multikueue_kinds(file.integrations.frameworks),
            *_declared_multikueue_kinds(file, section),
        ),
    )


def _step_size(file: ConfigurationFile, section: MultiKueueSection, dispatcher: Dispatcher) -> int:
    """Return the clusters of a round; what is written is checked even if the gate is closed."""
    incremental, where = (
        section.incremental_dispatcher_config,
        "multiKueue.incrementalDispatcherConfig",
    )
    if incremental is None:
        return _STEP
    if dispatcher != "Incremental":
        raise SettingsError(f"{where} is for the dispatcher {INCREMENTAL} only.")
    if incremental.step_size is not None and incremental.step_size < 1:
        raise SettingsError(f"{where}.stepSize: {incremental.step_size} is less than 1.")
    if incremental.step_size is None or not is_open(file.feature_gates, _STEPS):
        return _STEP
    return incremental.step_size


def _multikueue_kinds(frameworks: tuple[str, ...]) -> tuple[str, ...]:
    """Return the enabled kinds that have an adapter; with Pods those in groups are enabled."""
    named = (kind for name in frameworks for kind in _WITH.get(name, (name,)))
    return tuple(kind for kind in named if kind in ADAPTERS)


def _declared_multikueue_kinds(
    file: ConfigurationFile, section: MultiKueueSection
) -> tuple[str, ...]:
    """Return the declared kinds that go to worker clusters. Source: multikueue.md 3.3, 4."""
    named, where = (
        [framework.name for framework in section.external_frameworks],
        "multiKueue.externalFrameworks",
    )
    for name in named:
        if name not in file.integrations.external_frameworks:
            raise SettingsError(
                f"{where}: {name} is not among integrations.externalFrameworks, so no jobs of the "
                "kind are queued."
            )
        if named.count(name) > 1:
            raise SettingsError(f"{where}: {name} stands there twice.")
    return tuple(named) if is_open(file.feature_gates, _OTHERS) else ()

"""The section ``multiKueue``: what it means, and what is refused. Source: multikueue.md 4."""

from __future__ import annotations

import pytest

from tests.parts.foreign import CONFIGURATION
from tidegate.errors import SettingsError
from tidegate.model.multikueue import MultiKueuePolicy
from tidegate.service.config.access_providers import AccessProvider, ExecConfig
from tidegate.service.config.configuration import parse_configuration
from tidegate.service.config.multikueue import DispatcherOptions

HEAD = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
INCREMENTAL = "kueue.x-k8s.io/multikueue-dispatcher-incremental"


def test_without_the_section_nothing_is_sent_anywhere() -> None:
    assert parse_configuration(HEAD).policy.multikueue is None


def test_an_empty_section_means_kueues_defaults() -> None:
    configuration = parse_configuration(HEAD + "multiKueue: {}\n")
    assert configuration.policy.multikueue == MultiKueuePolicy(kinds=("batch/job",))
    assert configuration.multikueue == DispatcherOptions(origin="multikueue", gc_interval_s=60.0)
    assert configuration.warnings == ()


def test_another_name_means_an_external_dispatcher() -> None:
    configuration = parse_configuration(HEAD + "multiKueue: {dispatcherName: example.com/mine}\n")
    assert configuration.policy.multikueue == MultiKueuePolicy(
        dispatcher="External", kinds=("batch/job",)
    )


def test_everything_that_may_be_said() -> None:
    text = f"""
integrations: {{frameworks: [batch/job, pod, sparkoperator.k8s.io/sparkapplication]}}
featureGates: {{SparkApplicationIntegration: true}}
multiKueue:
  gcInterval: "0"
  origin: here
  workerLostTimeout: 3s
  dispatcherName: {INCREMENTAL}
  incrementalDispatcherConfig: {{stepSize: 2}}
"""
    configuration = parse_configuration(HEAD + text)
    assert configuration.policy.multikueue == MultiKueuePolicy(
        dispatcher="Incremental",
        step=2,
        worker_lost_us=3_000_000,
        kinds=("batch/job", "pod", "pod-group"),
    )
    assert configuration.multikueue == DispatcherOptions(origin="here", gc_interval_s=0.0)


def test_a_manager_warns_of_a_gate_that_counts_for_workers_alone() -> None:
    opened = f"{HEAD}featureGates: {{MultiKueueOrchestratedPreemption: true}}\n"
    assert parse_configuration(opened).warnings == ()
    [warning] = parse_configuration(f"{opened}multiKueue: {{}}\n").warnings
    assert warning.startswith("featureGates.MultiKueueOrchestratedPreemption is not used for")


def test_the_size_of_a_step_counts_with_its_gate() -> None:
    text = f"{HEAD}multiKueue:\n  dispatcherName: {INCREMENTAL}\n"
    text += "  incrementalDispatcherConfig: {stepSize: 2}\n"
    closed = "featureGates: {MultiKueueIncrementalDispatcherConfig: false}\n"
    steps = [parse_configuration(file).policy.multikueue for file in (text, text + closed)]
    assert [step and step.step for step in steps] == [2, 3]
    with pytest.raises(SettingsError, match="0 is less than 1"):
        parse_configuration(text.replace("2}", "0}") + closed)


OTHERS = (
    CONFIGURATION.read_text()
    + "multiKueue: {externalFrameworks: [{name: Voyage.v1.ships.example.com}]}\n"
)


def test_a_declared_kind_is_sent_if_the_section_says_so() -> None:
    assert parse_configuration(OTHERS).multikueue_kinds == (
        "batch/job",
        "Voyage.v1.ships.example.com",
    )
    closed = OTHERS + "featureGates: {MultiKueueAdaptersForCustomJobs: false}\n"
    assert parse_configuration(closed).multikueue_kinds == ("batch/job",)
    with pytest.raises(SettingsError, match="stands there twice"):
        parse_configuration(OTHERS.replace("[{", "[{name: Voyage.v1.ships.example.com}, {"))


PROVIDER = (
    "{name: corp, execConfig: {command: corp-login, args: [token], provideClusterInfo: true, "
    "apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never}}"
)
BOTH = f"accessProviders: [{PROVIDER}], credentialsProviders: [{PROVIDER}]"
CORP = AccessProvider(
    name="corp",
    exec_config=ExecConfig(
        command="corp-login",
        args=("token",),
        api_version="client.authentication.k8s.io/v1",
        interactive_mode="Never",
        provide_cluster_info=True,
    ),
)


@pytest.mark.parametrize("key", ["accessProviders", "credentialsProviders"])
def test_plugins_for_cluster_profiles_count_with_their_gate(key: str) -> None:
    text = f"{HEAD}multiKueue: {{clusterProfile: {{{key}: [{PROVIDER}]}}}}\n"
    assert parse_configuration(text).multikueue.providers is None
    opened = parse_configuration(f"{text}featureGates: {{MultiKueueClusterProfile: true}}\n")
    assert opened.multikueue.providers == (CORP,)
    assert opened.warnings == ()


@pytest.mark.parametrize(
    ("section", "text"),
    [
        ("externalFrameworks: [{name: a.b.c}]", "a.b.c is not among integrations.external"),
        ("externalFrameworks: [{name: a.b.c, more: 1}]", "unknown field `more`"),
        ("clusterProfile: {accessProviders: [{name: a}]}", "missing required field `execConfig`"),
        (f"clusterProfile: {{accessProviders: [{PROVIDER}], more: 1}}", "unknown field `more`"),
        (
            f"clusterProfile: {{accessProviders: [{PROVIDER.replace('/v1', '/v2')}]}}",
            "Invalid enum value",
        ),
        (f"clusterProfile: {{{BOTH}}}", "name all under accessProviders"),
        ("incrementalDispatcherConfig: {stepSize: 2}", "is for the dispatcher"),
        (
            f"dispatcherName: {INCREMENTAL}\n  incrementalDispatcherConfig: {{stepSize: 0}}",
            "0 is less than 1",
        ),
        ("origin: 'no label!'", "no value of a label"),
        ("workerLostTimeout: -1s", "is not a duration"),
        ("other: 1", "unknown field `other`"),
    ],
)
def test_what_cannot_be_done_is_refused(section: str, text: str) -> None:
    with pytest.raises(SettingsError, match=text):
        parse_configuration(f"{HEAD}multiKueue:\n  {section}\n")

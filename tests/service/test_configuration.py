"""Kueue's Configuration file is read as it is meant, or refused where it cannot be followed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidegate.errors import SettingsError
from tidegate.model.podset import LabelSelector, Requirement
from tidegate.model.policy import DEFAULT_STRATEGIES, AdmissionFairSharing, PodsReady, Policy
from tidegate.service.config.configuration import (
    THROUGH_PODS,
    parse_configuration,
    read_configuration,
)
from tidegate.service.config.durations import duration_us

V1BETA2 = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
V1BETA1 = V1BETA2.replace("v1beta2", "v1beta1")


def mapped(mappings: str) -> str:
    return f"resources: {{deviceClassMappings: [{mappings}]}}"


TWICE = mapped("{name: x, deviceClassNames: [c]}, {name: y, deviceClassNames: [c]}")


def policy(text: str, version: str = V1BETA2) -> Policy:
    return parse_configuration(version + text).policy


def test_no_file_means_kueues_defaults() -> None:
    configuration = read_configuration("")
    assert configuration.policy == Policy(pods_ready=PodsReady())
    assert (configuration.frameworks, configuration.warnings) == (("batch/job",), ())


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("fairSharing: {}", DEFAULT_STRATEGIES),
        ("fairSharing: {preemptionStrategies: [LessThanInitialShare]}", ("LessThanInitialShare",)),
        ("manageJobsWithoutQueueName: false", ()),
    ],
)
def test_fair_sharing_is_on_where_its_section_stands(text: str, wanted: tuple[str, ...]) -> None:
    assert policy(text).fair_sharing == wanted


def test_the_older_version_enables_by_a_field() -> None:
    assert policy("", V1BETA1).pods_ready is None
    assert policy("fairSharing: {enable: false}", V1BETA1).fair_sharing == ()
    assert policy("fairSharing: {}", V1BETA1).fair_sharing == ()
    assert policy("fairSharing: {enable: true}", V1BETA1).fair_sharing == DEFAULT_STRATEGIES


def test_the_older_version_waits_for_pods_by_its_own_defaults() -> None:
    """Less long, and no other workload is admitted meanwhile."""
    older = PodsReady(timeout_us=300_000_000, block_admission=True)
    assert policy("waitForPodsReady: {enable: true}", V1BETA1).pods_ready == older
    open_admission = policy("waitForPodsReady: {enable: true, blockAdmission: false}", V1BETA1)
    assert open_admission.pods_ready == PodsReady(timeout_us=300_000_000)
    with pytest.raises(SettingsError, match="too short"):
        policy("waitForPodsReady: {enable: true, timeout: 0s}", V1BETA1)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("waitForPodsReady: {timeout: 0s}", "waitForPodsReady: {timeout: 30m}"),
        ("waitForPodsReady: {timeout: +1.m.5h}", "waitForPodsReady: {timeout: 31m}"),
        ("admissionFairSharing: {}", "admissionFairSharing: {usageHalfLifeTime: 0s}"),
        (
            "admissionFairSharing: {usageSamplingInterval: 0s}",
            "admissionFairSharing: {usageSamplingInterval: 5m}",
        ),
    ],
)
def test_what_has_no_length_is_as_kueue_takes_it(text: str, same: str) -> None:
    assert policy(text) == policy(same)


def test_a_longest_wait_of_0_bounds_none() -> None:
    waits = policy("waitForPodsReady: {requeuingStrategy: {backoffMaxSeconds: 0}}").pods_ready
    assert waits is not None
    assert waits.backoff_max_us > 365 * 86_400 * 1_000_000


def test_no_frameworks_are_the_default_ones() -> None:
    empty = parse_configuration(V1BETA2 + "integrations: {frameworks: []}")
    assert empty.frameworks == ("batch/job",)


def test_waiting_for_pods_is_read_to_its_last_field() -> None:
    actual_policy = policy(
        "waitForPodsReady: {timeout: 5m, recoveryTimeout: 0s, blockAdmission: true, "
        "requeuingStrategy: {timestamp: Creation, backoffLimitCount: 3, backoffBaseSeconds: 1, "
        "backoffMaxSeconds: 9}}"
    )
    assert actual_policy.pods_ready == PodsReady(
        timeout_us=300_000_000,
        recovery_timeout_us=0,
        block_admission=True,
        requeuing_timestamp="Creation",
        backoff_limit_count=3,
        backoff_base_us=1_000_000,
        backoff_max_us=9_000_000,
    )
    assert policy("featureGates: {DisableWaitForPodsReady: true}").pods_ready is None


def test_sharing_between_queues_and_resources_are_read() -> None:
    actual_policy = policy(
        "admissionFairSharing: {usageHalfLifeTime: 10m30.5s, resourceWeights: {cpu: 2.5}}\n"
        "resources: {excludeResourcePrefixes: [a.b/], "
        "transformations: [{input: gpu, strategy: Replace, outputs: {credits: 3}}]}\n"
        "objectRetentionPolicies: {workloads: {afterFinished: 1h}}\n"
        "featureGates: {PriorityBoost: true, PartialAdmission: true}"
    )
    assert actual_policy.admission_fair_sharing == AdmissionFairSharing(
        half_life_us=630_500_000, resource_weights={"cpu": "2.5"}
    )
    assert actual_policy.exclude_resource_prefixes == ("a.b/",)
    ignoring = "resources: {quotaCheckStrategy: IgnoreUndeclared}\n"
    assert policy(ignoring).ignore_undeclared
    assert not policy(ignoring + "featureGates: {QuotaCheckStrategy: false}").ignore_undeclared
    assert actual_policy.transformations[0].outputs == {"credits": "3"}
    assert actual_policy.retain_finished_us == 3_600_000_000
    assert actual_policy.gates == {"PriorityBoost": True}


def test_usage_is_not_sampled_while_the_gate_is_closed() -> None:
    closed = "\nfeatureGates: {AdmissionFairSharing: false}"
    assert policy("admissionFairSharing: {usageHalfLifeTime: 1m}").admission_fair_sharing
    assert not policy(
        f"admissionFairSharing: {{usageHalfLifeTime: 1m}}{closed}"
    ).admission_fair_sharing
    with pytest.raises(SettingsError, match="usageHalfLifeTime"):
        policy(f"admissionFairSharing: {{usageHalfLifeTime: soon}}{closed}")


def test_kinds_and_labels_to_copy_are_read() -> None:
    text = "integrations: {frameworks: [pod], labelKeysToCopy: [team, cost]}"
    configuration = parse_configuration(V1BETA2 + text)
    assert (configuration.frameworks, configuration.label_keys_to_copy) == (
        ("pod",),
        ("team", "cost"),
    )


def test_the_namespaces_that_are_managed_are_a_selector() -> None:
    configuration = parse_configuration(
        V1BETA2 + "managedJobsNamespaceSelector: {matchLabels: {a: b}, "
        "matchExpressions: [{key: c, operator: NotIn, values: [d]}]}"
    )
    not_d = Requirement(key="c", operator="NotIn", values=("d",))
    assert configuration.namespaces == LabelSelector(labels={"a": "b"}, expressions=(not_d,))


@pytest.mark.parametrize("kind", THROUGH_PODS)
def test_a_kind_that_is_queued_through_pods_implies_pods(kind: str) -> None:
    configuration = parse_configuration(V1BETA2 + f"integrations: {{frameworks: [{kind}]}}")
    assert configuration.frameworks == (kind, "pod")


def test_a_section_with_nothing_in_it_is_as_one_that_is_absent() -> None:
    empty = parse_configuration(V1BETA2 + "fairSharing:\nwaitForPodsReady: {timeout: }\nresources:")
    assert empty.policy == parse_configuration(V1BETA2).policy


def test_what_has_no_use_here_is_reported_with_what_stands_in_its_place() -> None:
    configuration = parse_configuration(
        V1BETA2 + "leaderElection: {leaderElect: true}\nwebhook: {port: 1}"
    )
    assert [warning.partition(" ")[0] for warning in configuration.warnings] == [
        "webhook",
        "leaderElection",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("waitForPodsReady: {timeut: 3s}", "unknown field `timeut` - at `waitForPodsReady`"),
        ("waitForPodsReady: {timeout: 100ns}", "too short"),
        ("integrations: {frameworks: [pod, pod]}", "at most once"),
        (
            "managedJobsNamespaceSelector: {matchExpressions: [{key: a, operator: In}]}",
            "In of a needs values",
        ),
        (
            "managedJobsNamespaceSelector: {matchLabels: {A.b/c: d}}",
            "managedJobsNamespaceSelector.matchLabels: 'A.b/c' is no key of a label: write one",
        ),
        ("managedJobsNamespaceSelector: {}", "selects kube-system"),
        (
            "managedJobsNamespaceSelector: {matchExpressions: [{key: a, operator: DoesNotExist}]}",
            "selects kube-system",
        ),
        (
            "resources: {quotaCheckStrategy: IgnoreUndeclared, excludeResourcePrefixes: [a]}",
            "without excludeResourcePrefixes",
        ),
        ("waitForPodsReady: {timeout: -5m}", "not a duration"),
        ("fairSharing: {preemptionStrategies: [LessThanInitialShare, LessThanInitialShare]}", "or"),
        ("featureGates: {Foo: true}", "no gate Foo"),
        (
            "admissionFairSharing: {usageHalfLifeTime: 1m, resourceWeights: {cpu: -1}}",
            "at `admissionFairSharing.resourceWeights",
        ),
        (
            "integrations: {frameworks: [sparkoperator.k8s.io/sparkapplication]}",
            "needs featureGates: {SparkApplicationIntegration: true}",
        ),
        ("resources: {deviceClassMappings: [{name: x}]}", "deviceClassNames"),
        (
            "resources: {deviceClassMappings: [{name: x, deviceClassNames: [c], sources: [s]}]}",
            "not supported",
        ),
        (TWICE, "in two mappings"),
        (mapped("{name: x, deviceClassNames: [c, c]}"), "each once"),
        (mapped("{name: x, deviceClassNames: []}"), "1 to 8 deviceClassNames"),
        (mapped("{name: x, deviceClassNames: [A b]}"), "no name such as"),
        (mapped("{name: /x, deviceClassNames: [c]}"), "no name such as"),
        (mapped("{name: x, deviceClassNames: [c]}, {name: x, deviceClassNames: [d]}"), "each name"),
        ("resources: {transformations: [{input: a}, {input: a}]}", "at most once"),
        ("integrations: {externalFrameworks: [A.v1.b]}", "declared nowhere"),
        ("nonsense: 1", "unknown field `nonsense`"),
        ("{", "line 3, column 1: expected <block end>"),
        ("featureGates: {PartialAdmission: !!bool 7}", "a tag does not suit its value"),
        ("resources: &a {transformations: *a}", "within its own anchor"),
    ],
)
def test_what_cannot_be_followed_is_refused_with_its_place(text: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        policy(text)


def test_another_kind_of_file_is_refused() -> None:
    with pytest.raises(SettingsError, match="neither"):
        policy("", V1BETA2.replace("v1beta2", "v1alpha1"))
    with pytest.raises(SettingsError, match="kind"):
        policy("", V1BETA2.replace("Configuration", "Config"))


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "configuration.yaml"
    with pytest.raises(SettingsError, match="cannot be read"):
        read_configuration(str(path))
    path.write_text("[]")
    with pytest.raises(SettingsError, match=r"In .*configuration\.yaml"):
        read_configuration(str(path))


@pytest.mark.parametrize(
    ("text", "microseconds"),
    [("0", 0), ("1h30m", 5_400_000_000), ("250ms", 250_000), ("1.5s", 1_500_000), ("999ns", 0)],
)
def test_durations_are_gos(text: str, microseconds: int) -> None:
    assert duration_us(text, "here") == microseconds

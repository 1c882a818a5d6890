"""What is the case with a case: when a deliberate difference is about it."""

from __future__ import annotations

from tests.kinds.observed.cases import Case


def always(_: Case) -> bool:
    """Tell that a row is about every case."""
    return True


def is_refused(case: Case) -> bool:
    """Tell whether Kueue refuses the object when it is made, or cannot say what its pods are."""
    webhook = case.expected.get("webhook", {})
    made = case.expected.get("composableWorkload", {})
    return (
        "podSetsError" in case.expected
        or bool(webhook.get("validateCreate", {}).get("error"))
        or (bool(made.get("error")) and not has_ended_pods(case))
    )


def is_refused_alone(case: Case) -> bool:
    """Tell whether a pod that is in no list of pods is refused."""
    return case.kind == "pod" and is_refused(case)


def is_empty(case: Case) -> bool:
    """Tell whether the object has no pods at all, or two podsets of one name."""
    names = [podset["name"] for podset in case.expected.get("podSets", [{"name": ""}])]
    return not names or len(set(names)) < len(names)


def is_handed_other_podsets(case: Case) -> bool:
    """Tell whether the stop is handed something else than what stood there before the start."""
    return case.stop_infos is not None


def is_unfinished(case: Case) -> bool:
    """Tell whether the job goes on."""
    return not case.expected.get("finished", {}).get("finished")


def is_elastic(case: Case) -> bool:
    """Tell whether the job may grow and shrink while it runs."""
    annotations = case.object.get("metadata", {}).get("annotations", {})
    return bool(annotations.get("kueue.x-k8s.io/elastic-job") == "true")


def is_finished(case: Case) -> bool:
    """Tell whether the job is over."""
    return not is_unfinished(case)


def has_excess_pods(case: Case) -> bool:
    """Tell whether a group has more pods than it is to have."""
    pod_sets = case.expected.get("composableWorkload", {}).get("podSets") or []
    current_pod_sets = case.expected.get("podSets", [])
    asked = sum(int(podset["count"]) for podset in pod_sets or current_pod_sets)
    return len(case.object.get("items", ())) > asked


def has_ended_pods(case: Case) -> bool:
    """Tell whether a pod ended, or says something else than that it is to be started."""
    pods = case.object.get("items", [case.object])
    return any(pod.get("status", {}).get("phase") in ("Succeeded", "Failed") for pod in pods)


def is_starting_or_failed(case: Case) -> bool:
    """Tell whether a Ray cluster has a status and is neither ready nor suspended."""
    state = case.object.get("status", {}).get("state")
    return state is not None and state not in ("ready", "suspended")


def is_submitted_or_ending(case: Case) -> bool:
    """Tell whether a SparkApplication has pods, or may have some, and does not say that it runs."""
    state = case.object.get("status", {}).get("applicationState", {}).get("state", "")
    return state in ("SUBMITTED", "INVALIDATING", "SUCCEEDING", "FAILING", "SUSPENDING", "RESUMING")


def has_a_cluster_before_it_is_ready(case: Case) -> bool:
    """Tell whether a RayService has a cluster that is up, and is not ready itself."""
    status = case.object.get("status", {})
    values = [status.get(text, {}) for text in ("activeServiceStatus", "pendingServiceStatus")]
    return any(service.get("rayClusterStatus", {}).get("state") for service in values)


def has_no_submitter(case: Case) -> bool:
    """Tell whether a RayJob leaves the pod that submits to its controller."""
    return "submitterPodTemplate" not in case.object["spec"]


def contradicts(case: Case) -> bool:
    """Tell whether a start gives a label or a node selector another value than stands there."""
    templates = [podset["template"] for podset in case.expected.get("podSets", ())]
    return any(
        template.get(part, {}).get(field, {}).get(key, value) != value
        for template, info in zip(templates, case.infos or (), strict=False)
        for part, field, wanted in (
            ("metadata", "labels", info.labels),
            ("spec", "nodeSelector", info.node_selector),
        )
        for key, value in wanted.items()
    )


def has_lost_its_owner(case: Case) -> bool:
    """Tell whether an object names an owner that is not there."""
    default = case.expected.get("webhook", {}).get("default", {})
    return "not found" in default.get("error", "")


def names_another_parent(case: Case) -> bool:
    """Tell whether a template says already that it is of another kind's object."""
    return "someone-else" in str(case.object["spec"])


def names_no_queue(case: Case) -> bool:
    """Tell whether an object has no label of a queue."""
    return "kueue.x-k8s.io/queue-name" not in case.object.get("metadata", {}).get("labels", {})


def has_no_patch(case: Case) -> bool:
    """Tell whether a TrainJob was made without Kueue's webhook."""
    patches = case.object["spec"].get("runtimePatches", [])
    return all(patch.get("manager") != "kueue.x-k8s.io/manager" for patch in patches)


def is_fast_and_mixed(case: Case) -> bool:
    """Tell whether pods that ask for different things are admitted by what the first one asks."""
    pods = case.object.get("items", [])
    fast = "kueue.x-k8s.io/pod-group-fast-admission"
    outcome = any(fast in pod["metadata"].get("annotations", {}) for pod in pods)
    return outcome and len({str(pod["spec"]) for pod in pods}) > 1


def has_fewer_replicas_than_its_least(case: Case) -> bool:
    """Tell whether a Ray worker group names a higher minimum of replicas than replicas."""
    groups = case.object.get("spec", {}).get("workerGroupSpecs", ())
    return any(group.get("minReplicas", 0) > group.get("replicas", 1) for group in groups)

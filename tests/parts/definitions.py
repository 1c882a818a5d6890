"""CRDs of other people's kinds, written from their public API as far as the modules read and write.

What is not named here is kept unseen, as a complete schema would keep it.
"""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]
OPEN: Object = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
TEXT: Object = {"type": "string"}
FLAG: Object = {"type": "boolean"}
COUNT: Object = {"type": "integer", "format": "int32"}
TEXTS: Object = {"type": "object", "additionalProperties": TEXT}
OBJECTS: Object = {"type": "array", "items": OPEN}
CONDITIONS: Object = {"type": "array", "items": {**OPEN, "required": ["type", "status"]}}

_APPROVED = {"api-approved.kubernetes.io": "https://github.com/kubernetes/enhancements/pull/1111"}
"""The API server asks for it where a group ends in k8s.io."""


def fields(**properties: Object) -> Object:
    """Return the schema of an object with these fields, and any others."""
    return {**OPEN, "properties": properties}


def required(schema: Object, *names: str) -> Object:
    """Return an object's schema that asks for these fields."""
    return {**schema, "required": list(names)}


def definition(
    api_version: str, kind: str, spec: Object, status: Object, scope: str = "Namespaced"
) -> Object:
    """Return the CRD of a kind with a status of its own."""
    group, _, version = api_version.partition("/")
    plural = f"{kind.lower()}s"
    schema = {"type": "object", "properties": {"spec": spec, "status": status}}
    served = {
        "name": version,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": schema},
    }
    names = {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}", "annotations": _APPROVED},
        "spec": {"group": group, "scope": scope, "names": names, "versions": [served]},
    }


_GROUP = required(
    fields(
        groupName=TEXT,
        replicas={**COUNT, "default": 0},
        minReplicas={**COUNT, "default": 0},
        maxReplicas={**COUNT, "default": 2147483647},
        numOfHosts={**COUNT, "default": 1},
        rayStartParams=OPEN,
        template=OPEN,
    ),
    "groupName",
    "rayStartParams",
    "template",
)
_CLUSTER = required(
    fields(
        suspend=FLAG,
        managedBy=TEXT,
        enableInTreeAutoscaling=FLAG,
        autoscalerOptions=OPEN,
        gcsFaultToleranceOptions=OPEN,
        headGroupSpec=required(
            fields(rayStartParams=OPEN, template=OPEN), "rayStartParams", "template"
        ),
        workerGroupSpecs={"type": "array", "items": _GROUP},
    ),
    "headGroupSpec",
)
_SERVICE_STATUS = fields(rayClusterName=TEXT, rayClusterStatus=fields(state=TEXT))
RAY_CLUSTER = definition(
    "ray.io/v1",
    "RayCluster",
    _CLUSTER,
    fields(state=TEXT, reason=TEXT, availableWorkerReplicas=COUNT),
)
RAY_JOB = definition(
    "ray.io/v1",
    "RayJob",
    fields(
        suspend=FLAG,
        managedBy=TEXT,
        entrypoint=TEXT,
        clusterSelector=TEXTS,
        shutdownAfterJobFinishes=FLAG,
        submissionMode={**TEXT, "default": "K8sJobMode"},
        submitterPodTemplate=OPEN,
        rayClusterSpec=_CLUSTER,
    ),
    fields(
        jobStatus=TEXT,
        jobDeploymentStatus=TEXT,
        message=TEXT,
        rayClusterName=TEXT,
        rayClusterStatus=OPEN,
    ),
)
RAY_SERVICE = definition(
    "ray.io/v1",
    "RayService",
    fields(managedBy=TEXT, serveConfigV2=TEXT, rayClusterConfig=_CLUSTER),
    fields(
        conditions=CONDITIONS,
        activeServiceStatus=_SERVICE_STATUS,
        pendingServiceStatus=_SERVICE_STATUS,
    ),
)
_COMPONENT = fields(
    annotations=TEXTS,
    template={**OPEN, "x-kubernetes-embedded-resource": True},
    podSets={
        "type": "array",
        "items": required(fields(path=TEXT, replicas=COUNT, annotations=TEXTS), "path"),
    },
    podSetInfos={
        "type": "array",
        "items": fields(labels=TEXTS, annotations=TEXTS, nodeSelector=TEXTS, tolerations=OBJECTS),
    },
)
APP_WRAPPER = definition(
    "workload.codeflare.dev/v1beta2",
    "AppWrapper",
    required(
        fields(suspend=FLAG, managedBy=TEXT, components={"type": "array", "items": _COMPONENT}),
        "components",
    ),
    fields(phase=TEXT, conditions=CONDITIONS),
)
_ROLE = fields(
    cores=COUNT,
    coreRequest=TEXT,
    coreLimit=TEXT,
    memory=TEXT,
    memoryLimit=TEXT,
    gpu=fields(name=TEXT, quantity=COUNT),
    labels=TEXTS,
    annotations=TEXTS,
    nodeSelector=TEXTS,
    tolerations=OBJECTS,
    affinity=OPEN,
    sidecars=OBJECTS,
    initContainers=OBJECTS,
    priorityClassName=TEXT,
    volumeMounts=OBJECTS,
    template=OPEN,
)
_EXECUTOR = {**_ROLE, "properties": {**_ROLE["properties"], "instances": COUNT}}
SPARK_APPLICATION = definition(
    "sparkoperator.k8s.io/v1beta2",
    "SparkApplication",
    required(
        fields(
            suspend=FLAG,
            mode={**TEXT, "enum": ["cluster", "client"]},
            dynamicAllocation=fields(enabled=FLAG),
            nodeSelector=TEXTS,
            volumes=OBJECTS,
            driver=_ROLE,
            executor=_EXECUTOR,
        ),
        "driver",
        "executor",
    ),
    fields(
        applicationState=fields(state=TEXT, errorMessage=TEXT),
        executorState=TEXTS,
    ),
)

_RUNTIME = fields(
    mlPolicy=OPEN,
    template=fields(spec=fields(replicatedJobs={"type": "array", "items": OPEN})),
)
CLUSTER_TRAINING_RUNTIME = definition(
    "trainer.kubeflow.org/v1alpha1", "ClusterTrainingRuntime", _RUNTIME, OPEN, "Cluster"
)
TRAINING_RUNTIME = definition("trainer.kubeflow.org/v1alpha1", "TrainingRuntime", _RUNTIME, OPEN)
_RUNTIME_PATCH = required(fields(manager=TEXT, time=TEXT, trainingRuntimeSpec=_RUNTIME), "manager")
TRAIN_JOB = definition(
    "trainer.kubeflow.org/v1alpha1",
    "TrainJob",
    required(
        fields(
            suspend=FLAG,
            managedBy=TEXT,
            runtimeRef=required(fields(name=TEXT, apiGroup=TEXT, kind=TEXT), "name"),
            trainer=fields(numNodes=COUNT, resourcesPerNode=OPEN, env=OBJECTS),
            initializer=fields(dataset=OPEN, model=OPEN),
            runtimePatches={"type": "array", "items": _RUNTIME_PATCH},
        ),
        "runtimeRef",
    ),
    fields(conditions=CONDITIONS, jobsStatus=OBJECTS),
)

"""What the scripts for Kubernetes change, and where their gates stand, against published schemas.

The models of `kubeflow_trainer_api` are made from the OpenAPI documents of Kubernetes, JobSet and
Trainer. They drop what they do not know, so that what comes back unchanged is known.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from plink.deploy.launchers import kubernetes

GATES = {"schedulingGates": [{"name": kubernetes.GATE}]}
POD_SPEC = {"containers": [{"name": "node", "image": "train"}]}


def job(kind: str, version: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "train"}, "spec": spec}


# As docs/launchers.md says: pods that share a template wait at a gate of it.
JOBSET = job(
    "JobSet",
    "jobset.x-k8s.io/v1alpha2",
    {
        "replicatedJobs": [
            {
                "name": "node",
                "template": {
                    "spec": {
                        "completionMode": "Indexed",
                        "parallelism": 3,
                        "completions": 3,
                        "template": {"spec": {**POD_SPEC, **GATES}},
                    }
                },
            }
        ]
    },
)
TRAINJOB = job(
    "TrainJob",
    "trainer.kubeflow.org/v1alpha1",
    {
        "runtimeRef": {"name": "torch-distributed"},
        "trainer": {"numNodes": 3},
        "runtimePatches": [
            {
                "manager": "plink.example.org/order",
                "trainingRuntimeSpec": {
                    "template": {
                        "spec": {
                            "replicatedJobs": [
                                {
                                    "name": "node",
                                    "template": {"spec": {"template": {"spec": GATES}}},
                                }
                            ]
                        }
                    }
                },
            }
        ],
    },
)


@pytest.fixture(scope="module")
def models() -> Any:
    """Hundreds of classes, which not every worker of a test run needs."""
    return pytest.importorskip("kubeflow_trainer_api.models")


def known(model: Any, document: dict[str, Any]) -> bool:
    """Whether a document is valid, with all of it known to its schema."""
    found: dict[str, Any] = model.from_dict(document).to_dict()
    return found == document


def test_the_gate_stands_where_the_schemas_have_it(models: Any) -> None:
    assert known(models.JobsetV1alpha2JobSet, JOBSET)
    assert known(models.TrainerV1alpha1TrainJob, TRAINJOB)


def test_what_a_schema_does_not_know_is_noticed(models: Any) -> None:
    wrong = json.loads(json.dumps(JOBSET).replace("schedulingGates", "schedulingGate"))
    assert not known(models.JobsetV1alpha2JobSet, wrong)


def test_the_patched_pod_is_a_pod(models: Any) -> None:
    # A strategic merge patch: maps are merged, the list of gates is one of objects with a name.
    patch = json.loads(kubernetes.PATCH.replace("\\", "").replace("$2", "node-c"))["spec"]
    gates = {gate["name"] for gate in patch["schedulingGates"] if gate.get("$patch") == "delete"}
    assert gates == {kubernetes.GATE}
    gated: dict[str, Any] = {**POD_SPEC, **GATES, "nodeSelector": {"kubernetes.io/os": "linux"}}
    left = [gate for gate in gated["schedulingGates"] if gate["name"] not in gates]
    selector = gated["nodeSelector"] | patch["nodeSelector"]
    patched = gated | patch | {"schedulingGates": left, "nodeSelector": selector}
    assert known(models.IoK8sApiCoreV1Pod, job("Pod", "v1", patched))
    assert selector["kubernetes.io/hostname"] == "node-c"
    assert not left

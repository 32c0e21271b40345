"""The scripts for Kubernetes, run against a stand-in for kubectl that keeps pods in files."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from plink.deploy.launchers import FORMATS
from plink.formats.hosts import Host

HOSTS = [Host("node-c", "10.0.0.3"), Host("node-a", "10.0.0.1"), Host("node-b", "10.0.0.2")]

HEAD = """\
#!/bin/sh
# Sends the pods of a JobSet to nodes, in plink's order. Its argument is the name of the job, whose
# pod templates hold `schedulingGates: [{name: plink-order}]`.
set -eu
job=$1
pin() {
  until pod=$(kubectl get pods -l "$1" -o name) && [ -n "$pod" ]; do
    sleep 1
  done
  kubectl patch "$pod" -p "{\\"spec\\":{\\"nodeSelector\\":{\\"kubernetes.io/hostname\\":\\"$2\\"},\
\\"schedulingGates\\":[{\\"\\$patch\\":\\"delete\\",\\"name\\":\\"plink-order\\"}]}}"
}
"""

PYTORCHJOB = """\
pin "training.kubeflow.org/job-name=$job,training.kubeflow.org/replica-type=master,\
training.kubeflow.org/replica-index=0" node-c
pin "training.kubeflow.org/job-name=$job,training.kubeflow.org/replica-type=worker,\
training.kubeflow.org/replica-index=0" node-a
pin "training.kubeflow.org/job-name=$job,training.kubeflow.org/replica-type=worker,\
training.kubeflow.org/replica-index=1" node-b
"""

TRAINJOB = """\
pin "jobset.sigs.k8s.io/jobset-name=$job,jobset.sigs.k8s.io/replicatedjob-name=node,\
batch.kubernetes.io/job-completion-index=0" node-c
pin "jobset.sigs.k8s.io/jobset-name=$job,jobset.sigs.k8s.io/replicatedjob-name=node,\
batch.kubernetes.io/job-completion-index=1" node-a
pin "jobset.sigs.k8s.io/jobset-name=$job,jobset.sigs.k8s.io/replicatedjob-name=node,\
batch.kubernetes.io/job-completion-index=2" node-b
"""

MPIJOB = """\
pin "training.kubeflow.org/job-name=$job,training.kubeflow.org/replica-type=worker,\
training.kubeflow.org/replica-index=0" node-c
pin "training.kubeflow.org/job-name=$job,training.kubeflow.org/replica-type=worker,\
training.kubeflow.org/replica-index=1" node-a
pin "training.kubeflow.org/job-name=$job,training.kubeflow.org/replica-type=worker,\
training.kubeflow.org/replica-index=2" node-b
"""

LEADERWORKERSET = """\
pin "leaderworkerset.sigs.k8s.io/name=$job,leaderworkerset.sigs.k8s.io/group-index=0,\
leaderworkerset.sigs.k8s.io/worker-index=0" node-c
pin "leaderworkerset.sigs.k8s.io/name=$job,leaderworkerset.sigs.k8s.io/group-index=0,\
leaderworkerset.sigs.k8s.io/worker-index=1" node-a
pin "leaderworkerset.sigs.k8s.io/name=$job,leaderworkerset.sigs.k8s.io/group-index=0,\
leaderworkerset.sigs.k8s.io/worker-index=2" node-b
"""

JOBSET = """\
pin "jobset.sigs.k8s.io/jobset-name=$job,batch.kubernetes.io/job-completion-index=0" node-c
pin "jobset.sigs.k8s.io/jobset-name=$job,batch.kubernetes.io/job-completion-index=1" node-a
pin "jobset.sigs.k8s.io/jobset-name=$job,batch.kubernetes.io/job-completion-index=2" node-b
"""

TEXTS = {
    "pytorchjob": ("PyTorchJob", PYTORCHJOB),
    "trainjob": ("TrainJob", TRAINJOB),
    "mpijob": ("MPIJob", MPIJOB),
    "leaderworkerset": ("LeaderWorkerSet", LEADERWORKERSET),
    "jobset": ("JobSet", JOBSET),
}

# The first `get` finds nothing yet, as where the pods are still to be made.
KUBECTL = """\
#!/bin/sh
if [ "$1" = get ]; then
  [ -e "$CALLS" ] && echo "pod/$4"
  : >> "$CALLS"
else
  echo "$2 $4" >> "$CALLS"
fi
"""


@pytest.mark.parametrize("name", TEXTS)
def test_text(name: str) -> None:
    kind, pins = TEXTS[name]
    assert FORMATS[name].render(HOSTS) == HEAD.replace("JobSet", kind) + pins


def test_the_script_patches_the_pod_of_every_rank(tmp_path: Path) -> None:
    (tmp_path / "kubectl").write_text(KUBECTL)
    (tmp_path / "kubectl").chmod(0o700)
    calls = tmp_path / "calls"
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "CALLS": str(calls)}
    script = FORMATS["jobset"].render(HOSTS)
    subprocess.run(["sh", "-c", script, "sh", "train"], env=environment, check=True, timeout=100)
    patched = [line.split(" ", 1) for line in calls.read_text().splitlines()]
    labels = "jobset.sigs.k8s.io/jobset-name=train,batch.kubernetes.io/job-completion-index"
    assert [pod for pod, _ in patched] == [f"pod/{labels}={index}" for index in range(3)]
    # A strategic merge patch, which Kubernetes applies to a pod that is gated (docs: Pod
    # Scheduling Readiness): the selector gains a key, the list of gates loses one by its name.
    assert [json.loads(patch) for _, patch in patched] == [
        {
            "spec": {
                "nodeSelector": {"kubernetes.io/hostname": host.name},
                "schedulingGates": [{"$patch": "delete", "name": "plink-order"}],
            }
        }
        for host in HOSTS
    ]

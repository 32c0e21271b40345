"""The kinds of Kubernetes jobs, and the labels by which the pod of a rank is found.

PyTorchJob: RANK is 0 on the master and the replica index + 1 on a worker. Trainer v2 and JobSet:
the completion index. LeaderWorkerSet: LWS_WORKER_INDEX, in the first group. MPIJob: workers stand
in its host file by their index (its discover_hosts.sh sorts them by name).
"""

from __future__ import annotations

from plink.deploy.launchers.kubernetes import kubernetes_format

_COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"
_TRAINING = "training.kubeflow.org"
_LWS = "leaderworkerset.sigs.k8s.io"


def _pytorchjob(index: int) -> str:
    role, replica = ("master", 0) if index == 0 else ("worker", index - 1)
    return _replica(role, replica)


def _mpijob(index: int) -> str:
    return _replica("worker", index)


def _replica(role: str, index: int) -> str:
    return (
        f"{_TRAINING}/job-name=$job,{_TRAINING}/replica-type={role},"
        f"{_TRAINING}/replica-index={index}"
    )


def _trainjob(index: int) -> str:
    # A TrainJob makes a JobSet of its own name, whose job `node` trains.
    return (
        "jobset.sigs.k8s.io/jobset-name=$job,jobset.sigs.k8s.io/replicatedjob-name=node,"
        f"{_COMPLETION_INDEX}={index}"
    )


def _jobset(index: int) -> str:
    return f"jobset.sigs.k8s.io/jobset-name=$job,{_COMPLETION_INDEX}={index}"


def _leaderworkerset(index: int) -> str:
    return f"{_LWS}/name=$job,{_LWS}/group-index=0,{_LWS}/worker-index={index}"


FORMATS = (
    kubernetes_format("pytorchjob", "PyTorchJob", _pytorchjob),
    kubernetes_format("trainjob", "TrainJob", _trainjob),
    kubernetes_format("mpijob", "MPIJob", _mpijob),
    kubernetes_format("leaderworkerset", "LeaderWorkerSet", _leaderworkerset),
    kubernetes_format("jobset", "JobSet", _jobset),
)

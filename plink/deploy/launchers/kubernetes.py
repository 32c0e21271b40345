"""Scripts that send the pods of a Kubernetes job, whose ranks are fixed, to nodes in rank order.

The pods of a job share one template, which cannot send each to a node of its own. So the template
holds a scheduling gate (Kubernetes 1.27), and the script written here gives every pod the node
of its rank and takes the gate away: the node selector of a gated pod may be extended.

The pod of a rank is found by labels. PyTorchJob: RANK is 0 on the master and the replica index + 1
on a worker. Trainer v2 and JobSet: the completion index. LeaderWorkerSet: LWS_WORKER_INDEX, in the
first group. MPIJob: workers stand in its host file by their index (its discover_hosts.sh sorts
them by name).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from plink.base.text import format_count
from plink.deploy.launchers.format import Format, check_names, refusal
from plink.formats.hosts import Host

GATE = "plink-order"

_COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"
_TRAINING = "training.kubeflow.org"
_JOBSET = "jobset.sigs.k8s.io"
_LWS = "leaderworkerset.sigs.k8s.io"
# A node's name and the value of its label are lower case, RFC 1123.
_NODE = re.compile(r"[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?")

# Between double quotes of shell, where $2 is the node.
PATCH = (
    r"{\"spec\":{\"nodeSelector\":{\"kubernetes.io/hostname\":\"$2\"},"
    r"\"schedulingGates\":[{\"\$patch\":\"delete\",\"name\":\"" + GATE + r"\"}]}}"
)
_HEAD = f"""\
#!/bin/sh
# Sends the pods of a KIND to nodes, in plink's order. Its argument is the name of the job, whose
# pod templates hold `schedulingGates: [{{name: {GATE}}}]`.
set -eu
job=$1
pin() {{
  until pod=$(kubectl get pods -l "$1" -o name) && [ -n "$pod" ]; do
    sleep 1
  done
  kubectl patch "$pod" -p "{PATCH}"
}}
"""

# From the index of a host in rank order to the labels of the pod with that rank.
Labels = Callable[[int], str]


def kubernetes_format(name: str, kind: str, labels: Labels) -> Format[Host]:
    """Return the file format of a kind of Kubernetes job; `labels` selects a pod by host index."""

    def render(hosts: Sequence[Host]) -> str:
        check_names(hosts, kind, ipv6=False)
        for host in hosts:
            if not _NODE.fullmatch(host.name):
                raise refusal(host, kind, "cannot name a node")
            if host.slots != hosts[0].slots:
                slots = format_count(host.slots, "slot")
                reason = f"has {slots}, while other hosts have another number"
                raise refusal(host, kind, reason, "make an order with as many slots on each host")
        lines = [f'pin "{labels(index)}" {host.name}\n' for index, host in enumerate(hosts)]
        return _HEAD.replace("KIND", kind) + "".join(lines)

    return Format(
        name=name,
        about=f"Kubernetes {kind}: a script that sends its pods to nodes, in order",
        usage="sh FILE JOB",
        render=render,
        adjacent_because="a pod has ranks in a row, and a node one pod",
    )


def _replica(role: str, index: int) -> str:
    return (
        f"{_TRAINING}/job-name=$job,{_TRAINING}/replica-type={role},"
        f"{_TRAINING}/replica-index={index}"
    )


FORMATS = (
    kubernetes_format(
        "pytorchjob",
        "PyTorchJob",
        lambda index: _replica("worker", index - 1) if index else _replica("master", 0),
    ),
    # A TrainJob makes a JobSet of its own name, whose job `node` trains.
    kubernetes_format(
        "trainjob",
        "TrainJob",
        lambda index: (
            f"{_JOBSET}/jobset-name=$job,{_JOBSET}/replicatedjob-name=node,"
            f"{_COMPLETION_INDEX}={index}"
        ),
    ),
    kubernetes_format("mpijob", "MPIJob", lambda index: _replica("worker", index)),
    kubernetes_format(
        "leaderworkerset",
        "LeaderWorkerSet",
        lambda index: f"{_LWS}/name=$job,{_LWS}/group-index=0,{_LWS}/worker-index={index}",
    ),
    kubernetes_format(
        "jobset", "JobSet", lambda index: f"{_JOBSET}/jobset-name=$job,{_COMPLETION_INDEX}={index}"
    ),
)

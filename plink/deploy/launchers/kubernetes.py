"""Kubernetes: a pod's identity fixes its rank, so the order is a plan of pods to nodes.

The pods of a job share one template, which cannot send each to a node of its own. So the template
holds a scheduling gate (Kubernetes 1.27), and the script written here gives every pod the node
of its rank and takes the gate away: of a gated pod, the node selector may be extended.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from plink.deploy.launchers.format import Format
from plink.deploy.launchers.names import check_names, refusal
from plink.files.cluster import Host

GATE = "plink-order"

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


def kubernetes_format(name: str, kind: str, labels: Labels) -> Format:
    """The format of one kind of job. In `labels`, `$job` is the job's name."""

    def render(hosts: Sequence[Host]) -> str:
        _check(hosts, kind)
        lines = [f'pin "{labels(index)}" {host.name}\n' for index, host in enumerate(hosts)]
        return _HEAD.replace("KIND", kind) + "".join(lines)

    return Format(
        name=name,
        about=f"Kubernetes {kind}: a script that sends its pods to nodes, in order",
        usage="sh FILE JOB",
        render=render,
        adjacent_because="a pod has ranks in a row, and a node one pod",
    )


def _check(hosts: Sequence[Host], kind: str) -> None:
    check_names(hosts, kind, ipv6=False)
    for host in hosts:
        if not _NODE.fullmatch(host.name):
            raise refusal(host, kind, "is no name of a node")
        if host.slots != hosts[0].slots:
            raise refusal(host, kind, f"has {host.slots} slots where others have another number")

"""Pods of a Kubernetes job, named `k8s:NAMESPACE/SELECTOR`, as in `kubectl get pods -l SELECTOR`.

The namespace is a DNS label and so has no dots (Kubernetes documentation, Namespaces), unlike most
prefixes of a label's key: what stands before the first slash is a namespace if it can be one, and
nothing before it, or no slash, is the namespace of kubectl's own context.

Input that cannot be used raises `HostListError`, which names the place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from plink.probes.errors import HostListError, clean
from plink.probes.hosts.address import is_address
from plink.probes.hosts.hostlist import ListedHost, check_hosts, check_name
from plink.probes.hosts.listing import at, count_slots, is_up, objects, parse_listing_json
from plink.probes.inventories.inventory import TIMEOUT_S, InventoryHosts, ReadFile, run_program

FORM = "k8s:NAMESPACE/SELECTOR"
_HINT = "write k8s:training/job-name=gpt, or k8s:training/ for every pod of the namespace"
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_DIGITS = re.compile(r"([0-9]+)")
# kubectl exec goes there where nobody names a container.
_DEFAULT_CONTAINER = "kubectl.kubernetes.io/default-container"


@dataclass(frozen=True)
class Pod:
    """Running and ready Kubernetes pod: name, namespace, address, slots and container.

    Args:
        container: the one to run commands in; None where only the user can say.
    """

    name: str
    namespace: str
    address: str | None
    slots: int
    container: str | None


def read(where: str, read_file: ReadFile) -> InventoryHosts:  # noqa: ARG001
    """Return the pods of `NAMESPACE/SELECTOR` or `SELECTOR`, reached by `kubectl exec`."""
    place = clean(f"k8s:{where}")
    namespace, selector = parse_where(where)
    words = ["kubectl", "get", "pods", "-o", "json", f"--request-timeout={TIMEOUT_S:g}s"]
    words += [f"--namespace={namespace}"] if namespace else []
    words += [f"--selector={selector}"] if selector else []
    pods = parse_pods(run_program(words, place, _HINT), place)
    hosts = [
        ListedHost(pod.name, slots=pod.slots, ssh_address=pod.address, place=place) for pod in pods
    ]
    return InventoryHosts(check_hosts(hosts, place), lambda: via(pods, place))


def parse_where(where: str) -> tuple[str, str]:
    """Split `NAMESPACE/SELECTOR`; empty for the context's namespace, or for all pods. Pure."""
    before, slash, after = where.partition("/")
    if slash and (not before or _LABEL.fullmatch(before)):
        namespace, selector = before, after.strip()
    else:
        namespace, selector = "", where.strip()
    if not (namespace or selector):
        raise HostListError("k8s: expected a namespace, a selector or both after k8s:", _HINT)
    if not selector.isprintable():
        raise HostListError(f"{clean(f'k8s:{where}')}: contains control characters", _HINT)
    return namespace, selector


def parse_pods(content: bytes, place: str) -> list[Pod]:
    """Return the running and ready pods of a PodList, worker-2 before worker-10. Pure."""
    data = parse_listing_json(content, place, _HINT)
    if not isinstance(at(data, "items"), list):
        raise HostListError(f"{place}: the output of kubectl is not a list of pods", _HINT)
    listed = objects(data["items"])
    pods = list(_pods(listed, place))
    if not pods:
        idle = f"none of {len(listed)} pods is ready" if listed else "there are no such pods"
        raise HostListError(f"{place}: {idle}", _HINT)
    return sorted(pods, key=lambda pod: _natural(pod.name))


def via(pods: Sequence[Pod], place: str) -> str:
    """Return the command template `kubectl exec ... {host}` that reaches these pods. Pure."""
    namespace = pods[0].namespace
    containers = {pod.container for pod in pods}
    (first, *others) = sorted(containers, key=str)
    if first is None or others:
        unclear = next(pod.name for pod in pods if pod.container is None or others)
        raise HostListError(
            f"{place}: the container to use in {unclear} is ambiguous, as the pods have "
            "several containers, or different ones",
            f"choose one with --via 'kubectl exec -i -n {namespace} {{host}} -c CONTAINER --', or "
            "by the "
            f"annotation {_DEFAULT_CONTAINER} of the pods",
        )
    return f"kubectl exec -i -n {namespace} {{host}} -c {first} --"


def _pods(listed: Sequence[dict[str, Any]], place: str) -> Iterator[Pod]:
    for described in listed:
        if not is_up(described):
            continue
        name, namespace = at(described, "metadata", "name"), at(described, "metadata", "namespace")
        if not isinstance(name, str) or ":" in name:
            raise HostListError(f"{place}: kubectl printed a pod without a valid name", _HINT)
        check_name(name, place)
        if not isinstance(namespace, str) or not _LABEL.fullmatch(namespace):
            raise HostListError(f"{place}: the pod {name} has no namespace", _HINT)
        address = at(described, "status", "podIP")
        yield Pod(
            name,
            namespace,
            address if isinstance(address, str) and is_address(address) else None,
            count_slots(described),
            _container(described),
        )


def _container(described: dict[str, Any]) -> str | None:
    names = [at(container, "name") for container in objects(at(described, "spec", "containers"))]
    chosen = at(described, "metadata", "annotations", _DEFAULT_CONTAINER)
    name = chosen if chosen in names else names[0] if len(names) == 1 else None
    return name if isinstance(name, str) and _LABEL.fullmatch(name) else None


def _natural(name: str) -> list[tuple[int, str]]:
    """Return a sort key by which worker-2 precedes worker-10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in _DIGITS.split(name)]

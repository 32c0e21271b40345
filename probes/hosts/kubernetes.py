"""Parsing of node and pod objects of the Kubernetes API. Pure.

Kubernetes API reference: NodeStatus, PodStatus (`conditions`, `phase`, `podIP`), Container
(`resources.limits`). Device plugins name their GPUs `nvidia.com/gpu` and `amd.com/gpu`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from plink.probes.hosts.hostlist import MAX_SLOTS
from plink.probes.hosts.nested import at, objects

_GPUS = ("nvidia.com/gpu", "amd.com/gpu")


def is_ready(described: Mapping[str, Any]) -> bool:
    """Return whether a node or pod is ready; True if it reports no readiness."""
    said = [
        at(condition, "status")
        for condition in objects(at(described, "status", "conditions"))
        if at(condition, "type") == "Ready"
    ]
    return not said or said[0] == "True"


def is_up(pod: Mapping[str, Any]) -> bool:
    """Return whether a pod runs, is ready, and is not being deleted."""
    runs = at(pod, "status", "phase") in (None, "Running")
    return runs and is_ready(pod) and at(pod, "metadata", "deletionTimestamp") is None


def slots_of(described: Mapping[str, Any]) -> int:
    """Return the number of ranks of a node or pod: its GPUs, or 1 without GPUs."""
    limits = [
        at(container, "resources", "limits")
        for container in objects(at(described, "spec", "containers"))
    ]
    counted = sum(
        _count(at(amounts, gpu))
        for amounts in (at(described, "status", "allocatable"), *limits)
        for gpu in _GPUS
    )
    return counted if 1 <= counted <= MAX_SLOTS else 1


def _count(text: Any) -> int:
    said = str(text)
    return int(said) if said.isascii() and said.isdigit() and len(said) <= 5 else 0

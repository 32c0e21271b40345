"""ResNet-50's gradients as simulated ranks announce them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from benchkit.networks import resnet50
from plink.simulate.control.workload import Workload, backward
from plink.training.control.requests import Request, Tensor

# Of the logarithm of a rank's computing in an iteration; and of each call by itself, in seconds.
DEVIATION = 0.005
DISORDER_S = 5e-4
# Of a pass without overlap, all gradients come within this share of the computing, in so many runs.
END_SHARE, RUNS = 0.03, 9


def overlapped_workload(compute_s: float, groups: int = 0) -> Workload:
    """Gradients are announced layer by layer while the backward pass goes on.

    Args:
        compute_s: of an iteration.
        groups: in which they are announced, of equal numbers of tensors; 0 for each by itself.
    """
    layers: dict[str, list[Request]] = {}
    for one in resnet50():
        request = Request(one.name, (Tensor("float32", one.shape),))
        layers.setdefault(one.name.rpartition(".")[0], []).append(request)
    of_layers = [tuple(requests) for requests in layers.values()]
    calls, ready_s = backward(of_layers, [1.0] * len(layers), compute_s)
    if groups:
        calls, ready_s = _group_calls(calls, ready_s, groups)
    return Workload(calls, ready_s, compute_s, DEVIATION, DISORDER_S)


def at_the_end(compute_s: float, deviation: float) -> Workload:
    """Gradients come at the end of the computing, as where XLA compiles all of it."""
    requests = [Request(one.name, (Tensor("float32", one.shape),)) for one in resnet50()]
    ends = [round(i * len(requests) / RUNS) for i in range(RUNS + 1)]
    calls = [tuple(requests[first:end]) for first, end in pairwise(ends)]
    ready_s = [compute_s * (1.0 - END_SHARE * (1.0 - (i + 1) / RUNS)) for i in range(RUNS)]
    return Workload(calls, ready_s, compute_s, deviation)


def _group_calls(
    calls: Sequence[tuple[Request, ...]], ready_s: Sequence[float], groups: int
) -> tuple[list[tuple[Request, ...]], list[float]]:
    """Each is announced when the last of its tensors is there."""
    each = [(one, at_s) for call, at_s in zip(calls, ready_s, strict=True) for one in call]
    ends = [round(i * len(each) / groups) for i in range(groups + 1)]
    parts = [each[first:end] for first, end in pairwise(ends)]
    grouped = [
        Request(
            f"group {i}",
            tuple(tensor for one, _ in part for tensor in one.tensors),
            tuple(one.name for one, _ in part),
        )
        for i, part in enumerate(parts)
    ]
    return [(one,) for one in grouped], [part[-1][1] for part in parts]

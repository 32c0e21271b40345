"""Neural networks that the paper's evaluation trained, by name (Luo 2020, Table 6.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_MB = 1_000_000


@dataclass(frozen=True)
class TrainedNetwork:
    """Neural network as it was trained on a GTX 1080 Ti.

    Args:
        model_bytes: of its parameters.
        iteration_s: of forward and backward.
        printed_ncc_gbit_s: what Table 2.1 prints for a central server of 8 workers; None where it
            has no row.
    """

    model_bytes: int
    iteration_s: float
    printed_ncc_gbit_s: float | None = None


NETWORKS: Mapping[str, TrainedNetwork] = {
    "alexnet": TrainedNetwork(194 * _MB, 0.016, 1408.0),
    "vgg11": TrainedNetwork(505 * _MB, 0.121),
    "vgg19": TrainedNetwork(548 * _MB, 0.268),
    "googlenet": TrainedNetwork(38 * _MB, 0.100, 46.0),
    "inception-v3": TrainedNetwork(91 * _MB, 0.225, 50.0),
    "resnet18": TrainedNetwork(45 * _MB, 0.054),
    "resnet50": TrainedNetwork(97 * _MB, 0.161),
    "resnet269": TrainedNetwork(390 * _MB, 0.350, 140.0),
    "resnext269": TrainedNetwork(390 * _MB, 0.386),
}
# Of Table 2.1.
PRINTED_WORKERS = 8

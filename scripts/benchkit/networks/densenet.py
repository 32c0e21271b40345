"""Densely connected networks."""

from __future__ import annotations

from collections.abc import Iterator

from benchkit.networks.layers import Parameter, convolution, linear, norm, normed_convolution

CLASSES = 1000
GROWTH = 32
BOTTLENECK = 4 * GROWTH


def densenet201() -> Iterator[Parameter]:
    """DenseNet-201 (Huang et al. 2017, torchvision `densenet201`): 20,013,928 in 604 tensors."""
    yield from normed_convolution("conv0", 3, 64, 7, 112)
    width, side = 64, 56
    blocks = (6, 12, 48, 32)
    for block, layers in enumerate(blocks, start=1):
        for layer in range(1, layers + 1):
            name = f"denseblock{block}.denselayer{layer}"
            yield from norm(f"{name}.norm1", width)
            yield from normed_convolution(f"{name}.conv1", width, BOTTLENECK, 1, side)
            yield from convolution(f"{name}.conv2", BOTTLENECK, GROWTH, 3, side, bias=False)
            width += GROWTH
        if block < len(blocks):
            name = f"transition{block}"
            yield from norm(f"{name}.norm", width)
            # It convolves before it pools.
            yield from convolution(f"{name}.conv", width, width // 2, 1, side, bias=False)
            width, side = width // 2, side // 2
    yield from norm("norm5", width)
    yield from linear("classifier", width, CLASSES)

"""Inception networks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchkit.networks.layers import Parameter, linear, normed_convolution

CLASSES = 1000
# Inputs, outputs, kernel (height and width), and the side of the output, by name.
Layer = tuple[str, int, int, tuple[int, int], int]

ONE, THREE, WIDE, HIGH, ACROSS, DOWN = (1, 1), (3, 3), (1, 7), (7, 1), (1, 3), (3, 1)
STEM: Sequence[Layer] = (
    ("0", 3, 32, THREE, 149),
    ("1", 32, 32, THREE, 147),
    ("2", 32, 64, THREE, 147),
    ("3.conv", 64, 96, THREE, 73),
    ("4.branch0.0", 160, 64, ONE, 73),
    ("4.branch0.1", 64, 96, THREE, 71),
    ("4.branch1.0", 160, 64, ONE, 73),
    ("4.branch1.1", 64, 64, WIDE, 73),
    ("4.branch1.2", 64, 64, HIGH, 73),
    ("4.branch1.3", 64, 96, THREE, 71),
    ("5.conv", 192, 192, THREE, 35),
)
INCEPTION_A: Sequence[Layer] = (
    ("branch0", 384, 96, ONE, 35),
    ("branch1.0", 384, 64, ONE, 35),
    ("branch1.1", 64, 96, THREE, 35),
    ("branch2.0", 384, 64, ONE, 35),
    ("branch2.1", 64, 96, THREE, 35),
    ("branch2.2", 96, 96, THREE, 35),
    ("branch3.1", 384, 96, ONE, 35),
)
REDUCTION_A: Sequence[Layer] = (
    ("branch0", 384, 384, THREE, 17),
    ("branch1.0", 384, 192, ONE, 35),
    ("branch1.1", 192, 224, THREE, 35),
    ("branch1.2", 224, 256, THREE, 17),
)
INCEPTION_B: Sequence[Layer] = (
    ("branch0", 1024, 384, ONE, 17),
    ("branch1.0", 1024, 192, ONE, 17),
    ("branch1.1", 192, 224, WIDE, 17),
    ("branch1.2", 224, 256, HIGH, 17),
    ("branch2.0", 1024, 192, ONE, 17),
    ("branch2.1", 192, 192, HIGH, 17),
    ("branch2.2", 192, 224, WIDE, 17),
    ("branch2.3", 224, 224, HIGH, 17),
    ("branch2.4", 224, 256, WIDE, 17),
    ("branch3.1", 1024, 128, ONE, 17),
)
REDUCTION_B: Sequence[Layer] = (
    ("branch0.0", 1024, 192, ONE, 17),
    ("branch0.1", 192, 192, THREE, 8),
    ("branch1.0", 1024, 256, ONE, 17),
    ("branch1.1", 256, 256, WIDE, 17),
    ("branch1.2", 256, 320, HIGH, 17),
    ("branch1.3", 320, 320, THREE, 8),
)
INCEPTION_C: Sequence[Layer] = (
    ("branch0", 1536, 256, ONE, 8),
    ("branch1_0", 1536, 384, ONE, 8),
    ("branch1_1a", 384, 256, ACROSS, 8),
    ("branch1_1b", 384, 256, DOWN, 8),
    ("branch2_0", 1536, 384, ONE, 8),
    ("branch2_1", 384, 448, DOWN, 8),
    ("branch2_2", 448, 512, ACROSS, 8),
    ("branch2_3a", 512, 256, ACROSS, 8),
    ("branch2_3b", 512, 256, DOWN, 8),
    ("branch3.1", 1536, 256, ONE, 8),
)


def inception_v4() -> Iterator[Parameter]:
    """Inception-v4 (Szegedy et al. 2017, figures 3 to 9): 42,679,816 in 449 tensors."""
    yield from _block("", STEM)
    parts = [INCEPTION_A] * 4 + [REDUCTION_A] + [INCEPTION_B] * 7 + [REDUCTION_B]
    for number, part in enumerate([*parts, *[INCEPTION_C] * 3], start=6):
        yield from _block(f"{number}.", part)
    yield from linear("last_linear", 1536, CLASSES)


def _block(prefix: str, layers: Sequence[Layer]) -> Iterator[Parameter]:
    for name, inputs, outputs, kernel, side in layers:
        yield from normed_convolution(f"features.{prefix}{name}", inputs, outputs, kernel, side)

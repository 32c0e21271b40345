"""The inputs of ranks to a collective, and the expected result."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from soakkit.steps import ITEM_BYTES, Step

Array = npt.NDArray[Any]

# Half a unit in the last place, relative.
_ROUNDING = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
# Of float16's least numbers; the others' do not occur.
_LEAST = 2.0**-24
_OFFSET = 4


class WrongResult(Exception):  # noqa: N818 - it is a finding, not an error of the program
    """A result is not what it must be; the message says where and how."""


class Inputs:
    """Random numbers to cut inputs out of: whole numbers of all sizes, others from -1 to 1.

    Args:
        seed: the same on every rank.
        most_bytes: of a buffer.
    """

    def __init__(self, seed: int, most_bytes: int) -> None:
        self._seed = seed
        rng = np.random.default_rng(seed)
        bits = rng.integers(0, 256, 2 * most_bytes // 8 * 8, dtype=np.uint8)
        real = rng.uniform(-1.0, 1.0, 2 * most_bytes // 8)
        self._pools: dict[str, Array] = {
            "int32": bits.view(np.int32),
            "int64": bits.view(np.int64),
            "float64": real,
            "float32": np.tile(real, 2).astype(np.float32),
            "float16": np.tile(real, 4).astype(np.float16),
        }
        # The upper halves of 32 bits.
        brain = np.tile(self._pools["float32"], 2).view(np.uint32) >> 16
        self._pools["bfloat16"] = brain.astype(np.uint16)

    def of(self, step: Step, rank: int) -> Array:
        """The input of `rank`; for a minimum or maximum it may contain NaN."""
        rng = np.random.default_rng([_OFFSET, self._seed, step.number, rank])
        pool = self._pools[step.dtype]
        begin = int(rng.integers(len(pool) - step.items + 1))
        array = pool[begin : begin + step.items].copy()
        if step.op in ("min", "max") and step.items and rng.random() < 0.2:
            place = int(rng.integers(step.items))
            if array.dtype.kind == "f":
                array[place] = np.nan
            elif step.dtype == "bfloat16":
                array[place] = 0x7FC0
        return array


def check_result(step: Step, inputs: list[Array], result: Array) -> None:
    """Whole numbers, minima and maxima must be exact, other sums near the exact ones.

    Raises:
        WrongResult: they are not.
    """
    if step.dtype.startswith("int"):
        got, expected = result, _of_whole(step.op, inputs)
        is_wrong = got != expected
    else:
        wide = [_widen(array, step.dtype) for array in inputs]
        got = _widen(result, step.dtype)
        expected, tolerance = _of_real(step, wide)
        # NaN is not near anything.
        is_near = np.abs(got - expected) <= tolerance
        is_wrong = ~(is_near | (np.isnan(got) & np.isnan(expected)))
    if is_wrong.any():
        place = int(np.argmax(is_wrong))
        raise WrongResult(
            f"collective {step.number} ({step.op} of {step.items} {step.dtype}): item {place} is "
            f"{got[place]}, not {expected[place]}; {int(is_wrong.sum())} wrong items"
        )


def _widen(array: Array, dtype: str) -> Array:
    if dtype == "bfloat16":
        return (array.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return array.astype(np.float64)


def _of_whole(op: str, inputs: list[Array]) -> Array:
    """Sums wrap around, means are truncated towards zero."""
    if op in ("min", "max", "and"):
        whole: Array = {"min": np.minimum, "max": np.maximum, "and": np.bitwise_and}[op].reduce(
            inputs
        )
        return whole
    total = inputs[0].copy()
    for array in inputs[1:]:
        total += array
    if op == "sum":
        return total
    quotient = total // len(inputs)
    quotient += (total < 0) & (total % len(inputs) != 0)
    return quotient


def _of_real(step: Step, wide: list[Array]) -> tuple[Array, Array]:
    """The result, and the largest error of any order of additions: one rounding at each rank."""
    if step.op in ("min", "max"):
        least = (np.minimum if step.op == "min" else np.maximum).reduce(wide)
        return least, np.zeros_like(least)
    ranks = len(wide)
    divisor = ranks if step.op == "mean" else 1
    total, size = wide[0].copy(), np.abs(wide[0])
    for array in wide[1:]:
        total += array
        size += np.abs(array)
    # Twice the first-order bound, because the reference rounds too.
    tolerance = 2 * (ranks + 1) * _ROUNDING[step.dtype] * size / divisor
    if ITEM_BYTES[step.dtype] == 2:
        tolerance += ranks * _LEAST
    return total / divisor, tolerance

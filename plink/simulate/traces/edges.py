"""Which operations of a trace wait for which, collected within a limit."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from plink.base.errors import WrongUseError

MAX_EDGES = 1 << 24


class Edges:
    """Pairs of operations, the second of which waits for the first."""

    def __init__(self) -> None:
        self._numbers = array("q")

    def add(self, befores: Sequence[int], afters: Sequence[int], source: str) -> None:
        """Let each of `afters` wait for each of `befores`.

        Raises:
            WrongUseError: the trace in `source` has too many such pairs.
        """
        if len(self._numbers) // 2 + len(befores) * len(afters) > MAX_EDGES:
            raise WrongUseError(
                f"{source}: operations wait for each other more than {MAX_EDGES:,} times"
            )
        for before in befores:
            for after in afters:
                self._numbers.append(before)
                self._numbers.append(after)

    def columns(self) -> npt.NDArray[np.int64]:
        """Return (2, E) the operations that are waited for, and those that wait."""
        return np.array(self._numbers, dtype=np.int64).reshape(-1, 2).T

"""One rank of the benchmark interfaces: all-reduces turn by turn, then with balanced workers.

A JSON object on standard input says what to do; one on standard output what was measured.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np

from plink.engine import DirectoryStore, Engine, Forest, Options

_TIMEOUT_S = 120.0
# Small whole numbers, which float32 adds up exactly.
_PERIOD = 1009


def main() -> None:
    """Measure, tell."""
    task = json.loads(sys.stdin.readline())
    rank, ranks = task["rank"], task["ranks"]
    plan = task["plan"]
    forest = Forest(*(np.array(plan[part]) for part in ("weights", "reduce", "broadcast")))
    options = Options(addresses=task["addresses"], setup_timeout_s=_TIMEOUT_S)
    with Engine(rank, ranks, DirectoryStore(task["store"]), forest, options) as engine:
        reduce = Reduce(engine, task["size_bytes"] // 4)
        turn_by_turn_s = [reduce.seconds() for _ in range(task["repetitions"])]
        for _ in range(task["settling"]):
            reduce.seconds()
            engine.balance()
        balanced_s = []
        for _ in range(task["repetitions"]):
            balanced_s.append(reduce.seconds())
            engine.balance()
        shares = [worker.weight for worker in engine.statistics().workers]
    print(json.dumps({"turn by turn": turn_by_turn_s, "balanced": balanced_s, "shares": shares}))


class Reduce:
    """An all-reduce whose sum is checked.

    Args:
        engine: that does it.
        items: how many numbers of four bytes.
    """

    def __init__(self, engine: Engine, items: int) -> None:
        self._engine = engine
        self._pattern = (np.arange(items) % _PERIOD).astype(np.float32)
        self._array = np.empty_like(self._pattern)

    def seconds(self) -> float:
        """Do it once; all ranks begin together.

        Raises:
            SystemExit: a wrong sum.
        """
        self._array[:] = self._pattern
        self._engine.barrier().wait()
        began = time.monotonic()
        self._engine.allreduce(self._array).wait()
        took_s = time.monotonic() - began
        if not np.array_equal(self._array, self._engine.ranks * self._pattern):
            raise SystemExit(f"a wrong sum on rank {self._engine.rank}")
        return took_s


if __name__ == "__main__":
    main()

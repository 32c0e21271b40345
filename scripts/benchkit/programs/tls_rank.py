"""One rank of the benchmark tls: two engines in turn in one process, one of them encrypted.

A JSON object on standard input says what to do; one on standard output what was measured.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np

from plink.engine import DirectoryStore, Engine, Forest, Options

_TIMEOUT_S = 120.0
_PERIOD = 1009
CLEAR, ENCRYPTED = "clear", "TLS"


def main() -> None:
    """Set up, measure, tell."""
    task = json.loads(sys.stdin.readline())
    rank, ranks = task["rank"], task["ranks"]
    store = DirectoryStore(task["store"])
    parents = np.tile(np.arange(ranks, dtype=np.int32)[:, None], (1, ranks))
    np.fill_diagonal(parents, -1)
    forest = Forest(np.ones(ranks), parents, parents)
    # The first engine of a process pays for what both need.
    _engine(rank, ranks, store, forest, None).close()
    answer: dict[str, Any] = {"set_up": {CLEAR: [], ENCRYPTED: []}, "reduce": {}}
    for _ in range(task["set_ups"]):
        for kind, tls in ((CLEAR, None), (ENCRYPTED, task["tls"])):
            began, used = time.perf_counter(), time.process_time()
            engine = _engine(rank, ranks, store, forest, tls)
            answer["set_up"][kind].append((time.perf_counter() - began, time.process_time() - used))
            engine.allreduce(np.zeros(1)).wait()
            engine.close()
    engines = {
        kind: _engine(rank, ranks, store, forest, tls)
        for kind, tls in ((CLEAR, None), (ENCRYPTED, task["tls"]))
    }
    answer["cipher"] = engines[ENCRYPTED].statistics().connections[0].cipher
    answer["in_kernel"] = engines[ENCRYPTED].statistics().connections[0].is_encrypted_by_kernel
    for size_bytes, in_a_row in task["sizes"]:
        answer["reduce"][size_bytes] = measure_engines(
            engines, size_bytes, in_a_row, task["repetitions"]
        )
    for engine in engines.values():
        engine.close()
    print(json.dumps(answer))


def measure_engines(
    engines: dict[str, Engine], size_bytes: int, in_a_row: int, repetitions: int
) -> dict[str, list[tuple[float, float]]]:
    """Seconds and processor seconds of one collective, by kind and repetition; sums are checked."""
    figures: dict[str, list[tuple[float, float]]] = {kind: [] for kind in engines}
    pattern = (np.arange(size_bytes // 4) % _PERIOD).astype(np.float32)
    array = np.empty_like(pattern)
    for repetition in range(repetitions + 1):
        for kind, engine in engines.items():
            array[:] = pattern
            engine.allreduce(np.zeros(1)).wait()
            began, used = time.perf_counter(), time.process_time()
            for _ in range(in_a_row):
                engine.allreduce(array, op="max").wait()
            took, used = time.perf_counter() - began, time.process_time() - used
            # Checking takes cores from ranks that are not done yet.
            engine.allreduce(np.zeros(1)).wait()
            if not np.array_equal(array, pattern):
                raise SystemExit(f"{kind}: a wrong result on rank {engine.rank}")
            if repetition > 0:
                figures[kind].append((took / in_a_row, used / in_a_row))
    return figures


def _engine(
    rank: int, ranks: int, store: DirectoryStore, forest: Forest, tls: str | None
) -> Engine:
    options = Options(
        addresses=("127.0.0.1",), shared_memory=False, tls=tls, setup_timeout_s=_TIMEOUT_S
    )
    return Engine(rank, ranks, store, forest, options)


if __name__ == "__main__":
    main()

"""A process that is one rank: it reduces again and again, and says what that ended with.

After as many `collectives` as it is told, if it is, it says with whom it shares memory, how long
they took and what shares its workers have, and ends.

Each line on standard input is a JSON object that says who it is, the next one after an end; each
line on standard output is a JSON object.
"""

from __future__ import annotations

import json
import sys
import time
from collections import deque
from typing import Any

import numpy as np

from forests import binary_tree, chains, stars
from plink.engine import DirectoryStore, Engine, EngineError, Options

KINDS = {"stars": stars, "chains": chains, "binary tree": binary_tree}


def say(**what: Any) -> None:
    print(json.dumps(what), flush=True)


def main() -> None:
    for line in sys.stdin:
        be_a_rank(json.loads(line))


def be_a_rank(task: dict[str, Any]) -> None:
    rank, ranks = task["rank"], task["ranks"]
    options = Options(**task["options"])
    store = DirectoryStore(task["store"])
    try:
        with Engine(rank, ranks, store, KINDS[task["kind"]](ranks), options) as engine:
            times_s = reduce_on_and_on(
                engine, task["items"], task.get("collectives"), task.get("balances", False)
            )
            weights = [worker.weight for worker in engine.statistics().workers]
            say(event="done", shares_with=shares_with(engine), weights=weights, times_s=times_s)
    except EngineError as error:
        say(event="failed", rank=error.rank, message=str(error))


def reduce_on_and_on(
    engine: Engine, items: int, collectives: int | None, balances: bool
) -> list[float]:
    """How long the latest took."""
    array = np.empty(items, dtype=np.float32)
    sum_of_ranks = engine.ranks * (engine.ranks + 1) / 2
    times_s: deque[float] = deque(maxlen=100)
    while engine.next_collective != collectives:
        array.fill(engine.rank + 1)
        began_s = time.monotonic()
        engine.allreduce(array).wait()
        times_s.append(time.monotonic() - began_s)
        if not np.all(array == sum_of_ranks):
            say(event="wrong sum")
            sys.exit(1)
        if engine.next_collective == 3:
            say(event="running")
        if balances:
            engine.balance()
    return list(times_s)


def shares_with(engine: Engine) -> list[int]:
    connections = engine.statistics().connections
    return sorted({one.peer for one in connections if one.is_shared_memory})


if __name__ == "__main__":
    main()

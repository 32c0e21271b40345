"""A process that is one rank: it reduces again and again, and says what that ended with.

After as many `collectives` as it is told, if it is, it says with whom it shares memory and ends.

Each line on standard input is a JSON object that says who it is, the next one after an end; each
line on standard output is a JSON object.
"""

from __future__ import annotations

import json
import sys
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
            reduce_on_and_on(engine, task["items"], task.get("collectives"))
            say(event="done", shares_with=shares_with(engine))
    except EngineError as error:
        say(event="failed", rank=error.rank, message=str(error))


def reduce_on_and_on(engine: Engine, items: int, collectives: int | None) -> None:
    array = np.empty(items, dtype=np.float32)
    sum_of_ranks = engine.ranks * (engine.ranks + 1) / 2
    while engine.next_collective != collectives:
        array.fill(engine.rank + 1)
        engine.allreduce(array).wait()
        if not np.all(array == sum_of_ranks):
            say(event="wrong sum")
            sys.exit(1)
        if engine.next_collective == 3:
            say(event="running")


def shares_with(engine: Engine) -> list[int]:
    connections = engine.statistics().connections
    return sorted({one.peer for one in connections if one.is_shared_memory})


if __name__ == "__main__":
    main()

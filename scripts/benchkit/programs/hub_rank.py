"""One worker of the benchmark hub, or a rank of what it is compared with, as it is told.

Each line of standard input is a JSON object that says what to do (`do`, and its arguments), and is
answered by one on standard output.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

from benchkit.hub.ways import WAYS, Way

_MOST_SECONDS = 10_000


def main() -> None:
    """Do as told until standard input ends."""
    # Answers keep the real standard output; what libraries print goes to standard error.
    output = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)
    rank = Rank()
    for line in sys.stdin:
        command = json.loads(line)
        print(json.dumps(getattr(rank, command.pop("do"))(**command)), file=output)
    rank.end()


class Rank:
    """This process's part; its public methods are the commands."""

    def __init__(self) -> None:
        self._ways: dict[str, Way] = {}

    def open(self, name: str, way: str, **spec: Any) -> dict[str, Any]:
        """Meet the others in one way of averaging, which is then called by this name."""
        self._ways[name] = WAYS[way](**spec)
        return {}

    def run(self, name: str, at_s: float) -> dict[str, float]:
        """Average once; all begin at the same time of the machine's monotonic clock.

        Returns:
            `ended_s` by that clock, and `cpu_s` of all threads.
        """
        way = self._ways[name]
        way.prepare()
        time.sleep(max(0.0, at_s - time.monotonic()))
        used_s = time.process_time()
        way.once()
        ended_s = time.monotonic()
        used_s = time.process_time() - used_s
        way.check()
        return {"ended_s": ended_s, "cpu_s": used_s}

    def repeat(
        self, name: str, at_s: float, until_s: float, compute_s: float = 0.0
    ) -> dict[str, Any]:
        """Average again and again, and do something else before each for so long.

        Returns:
            `times` that ended until then, the last in part; how many `seconds` each took; and what
            the way says of itself.
        """
        way = self._ways[name]
        way.prepare()
        time.sleep(max(0.0, at_s - time.monotonic()))
        times, began_s = 0.0, time.monotonic()
        seconds: list[float] = []
        while began_s < until_s:
            time.sleep(compute_s)
            way.once()
            ended_s = time.monotonic()
            seconds.append(ended_s - began_s)
            within_s = min(ended_s, until_s) - began_s
            times += within_s / (ended_s - began_s)
            began_s = ended_s
        return {"times": times, "seconds": seconds[:_MOST_SECONDS], **(way.check() or {})}

    def close(self, name: str) -> dict[str, Any]:
        """Leave what `open` met in."""
        self._ways.pop(name).close()
        return {}

    def end(self) -> None:
        """Leave all."""
        for way in self._ways.values():
            way.close()


if __name__ == "__main__":
    main()

"""One machine of a distributed lambdarank training, for as many machine lists as it is given.

python -m benchkit.programs.lightgbm_worker RANKS NUMBER ROWS FEATURES LEAVES TREES

Each line of standard input is a machine list, `address:port,address:port,...` with one port. The
answer is a line of JSON: the seconds that the trees took, the bytes sent to each address.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time

import lightgbm
import numpy as np

QUERY_ROWS = 50
GRADES = 5
# The first tree of a training waits for whoever starts last.
UNTIMED_TREES = 1


def main() -> None:
    """Train once for every line."""
    ranks, number, rows, features, leaves, trees = map(int, sys.argv[1:])
    random = np.random.default_rng(number)
    x = random.random((rows, features))
    relevance = x @ np.linspace(1.0, 0.0, features) + random.normal(0.0, 1.0, rows)
    grades = np.argsort(np.argsort(relevance)) * GRADES // rows
    queries = [QUERY_ROWS] * (rows // QUERY_ROWS)
    options = {
        "objective": "lambdarank",
        "tree_learner": "data",
        "pre_partition": True,
        "num_machines": ranks,
        "num_threads": 1,
        "num_leaves": leaves,
        "verbosity": -1,
        "time_out": 2,
    }
    print("ready", flush=True)
    for line in sys.stdin:
        machines = line.strip()
        port = machines.rpartition(":")[2]
        clock = Clock(trees)
        lightgbm.train(
            {**options, "machines": machines, "local_listen_port": int(port)},
            lightgbm.Dataset(x, grades, group=queries),
            num_boost_round=trees + UNTIMED_TREES,
            callbacks=[clock],
        )
        print(json.dumps({"seconds": clock.seconds, "sent_bytes": clock.sent}), flush=True)


class Clock:
    """What LightGBM calls after every tree, while the connections are still there."""

    def __init__(self, trees: int) -> None:
        self._last = trees + UNTIMED_TREES
        self._ends_s: list[float] = []
        self.sent: dict[str, int] = {}

    def __call__(self, _: object) -> None:
        """Note the end of a tree; after the last, read what was sent."""
        self._ends_s.append(time.perf_counter())
        if len(self._ends_s) == self._last:
            self.sent = bytes_sent()

    @property
    def seconds(self) -> float:
        """What the timed trees took."""
        return self._ends_s[-1] - self._ends_s[UNTIMED_TREES - 1]


def bytes_sent() -> dict[str, int]:
    """What this process's connections have sent, by the address of the peer."""
    listing = subprocess.run(["ss", "-Htinp"], capture_output=True, text=True, check=True).stdout
    sent: dict[str, int] = {}
    own = f"pid={os.getpid()},"
    for first, second in re.findall(r"^(\S.*)\n\s+(.*)$", listing, re.MULTILINE):
        found = re.search(r"\bbytes_sent:(\d+)", second)
        if own in first and found:
            peer = first.split()[4].rpartition(":")[0]
            sent[peer] = sent.get(peer, 0) + int(found[1])
    return sent


if __name__ == "__main__":
    main()

"""Drains an engine whose peer joins when a line is read, and says whether it has waited for it."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from engine.forests import stars
from engine.group import group


def main() -> None:
    with group(stars(2)) as ranks:
        work = ranks.engines[0].allreduce(np.ones(10))

        def join() -> None:
            sys.stdin.readline()
            ranks.engines[1].allreduce(np.ones(10))

        joining = threading.Thread(target=join)
        joining.start()
        print("draining", flush=True)
        ranks.engines[0].drain(float(sys.argv[1]))
        print(work.done(), flush=True)
        joining.join()


if __name__ == "__main__":
    main()

"""The result of a bench in one sentence: speedup.py BENCH.json."""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def sentence(result: Mapping[str, Any]) -> str:
    """The speed-up by plink's order, from medians of one interleaved run.

    Args:
        result: the JSON of `plink bench` with the orders given, plink and random.
    """
    median_s = {row["order"]: float(row["median_s"]) for row in result["rows"]}
    random_s = statistics.median(
        seconds for order, seconds in median_s.items() if order.startswith("random-")
    )
    given_s, plink_s = median_s["given"], median_s["plink"]
    return (
        f"In plink's order the allreduce took {plink_s:.2f} s: {random_s / plink_s:.1f} times as "
        f"fast as in a random order ({random_s:.2f} s, median of medians), {given_s / plink_s:.1f} "
        f"times as fast as in the order of the host list ({given_s:.2f} s)."
    )


if __name__ == "__main__":
    print(sentence(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))))

"""The sentence that the demo ends with."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "lib" / "speedup.py"


def test_sentence_compares_with_the_median_random_order_and_the_given_one(tmp_path: Path) -> None:
    medians = {"given": 2.4, "plink": 0.8, "random-1": 9.9, "random-2": 3.2, "random-3": 1.0}
    rows = [{"order": order, "median_s": seconds} for order, seconds in medians.items()]
    file = tmp_path / "bench.json"
    file.write_text(json.dumps({"rows": rows}), encoding="utf-8")
    printed = subprocess.run(
        [sys.executable, SCRIPT, file], check=True, capture_output=True, text=True
    ).stdout
    assert printed == (
        "In plink's order the allreduce took 0.80 s: 4.0 times as fast as in a random order "
        "(3.20 s, median of medians), 3.0 times as fast as in the order of the host list "
        "(2.40 s).\n"
    )

"""The files that a command goes through, seen by running it.

A path is the chain of calls that are open at a time; its files are those of plink,
each once, from the command line on.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any
from unittest.mock import patch

import numpy as np

import plink
from benchkit.simulated import Behaviour, simulated_reach
from plink.cli import run
from plink.measure.probing import request

SITE = Path(plink.__file__).parents[1]
HOSTS = 8


def ring_order_path() -> list[str]:
    """The files from `plink order --algo ring` to the search of rings."""
    with TemporaryDirectory() as name:
        matrix = np.random.default_rng(1).uniform(10.0, 100.0, (HOSTS, HOSTS))
        file = Path(name, "rtt.csv")
        names = [f"n{host}" for host in range(HOSTS)]
        rows = [["us", *names], *([names[i], *map(str, row)] for i, row in enumerate(matrix))]
        file.write_text("\n".join(map(",".join, rows)))
        cluster = str(Path(name, "cluster.json"))
        quietly(["import", str(file), "--unit", "us", "-o", cluster])
        return longest_path(
            ["order", cluster, "--algo", "ring", "-o", str(Path(name, "order.json"))],
            "plink/solvers/ring/",
        )


def probe_path() -> list[str]:
    """The files from `plink probe` to the last call into `plink.probes`, on simulated hosts."""
    behaviour = Behaviour(round_s=0.002, pair_loss=0.0, never_start=0.0, die=0.0)

    def reach(listed: Any, *_: object, **__: object) -> Any:
        return simulated_reach(listed, behaviour, seed=1)

    with TemporaryDirectory() as name, patch.object(request, "reach", reach):
        hosts = Path(name, "hosts.txt")
        hosts.write_text("".join(f"10.9.0.{i}\n" for i in range(HOSTS)))
        return longest_path(
            ["probe", str(hosts), "-o", str(Path(name, "cluster.json"))],
            "plink/probes/",
        )


def longest_path(arguments: Sequence[str], end: str) -> list[str]:
    """Of all paths to a file below `end`, the one through most files before it."""
    longest: list[str] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        nonlocal longest
        file = ours(frame) if event == "call" else None
        if file is None or not file.startswith(end):
            return
        files = files_of(frame.f_back)
        # What is called back from there is a way back.
        if len(files) > len(longest) and not any(file.startswith(end) for file in files):
            longest = files

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        quietly(arguments)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return longest


def files_of(frame: FrameType | None) -> list[str]:
    """The files of the calls that are open, the outermost first."""
    files: dict[str, None] = {}
    while frame is not None:
        if (file := ours(frame)) is not None:
            files.pop(file, None)
            files[file] = None
        frame = frame.f_back
    return list(files)[::-1]


def ours(frame: FrameType) -> str | None:
    """The file of a call, where it is of plink and not of importing a module."""
    if frame.f_code.co_name == "<module>":
        return None
    folder, _, name = frame.f_code.co_filename.partition(f"{SITE}/")
    return name if not folder and name.startswith("plink/") else None


def quietly(arguments: Sequence[str]) -> None:
    """Run the command line in this process."""
    said = StringIO()
    with redirect_stdout(said), redirect_stderr(said):
        code = run(list(arguments))
    if code != 0:
        raise RuntimeError(f"plink {' '.join(arguments)} ended with {code}: {said.getvalue()}")

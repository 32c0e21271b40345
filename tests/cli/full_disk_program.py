"""Run many command lines on a disk without room; print their exit codes, what they said, and what
is on the disk afterwards, as JSON.

The arguments: the folder where the disk is mounted, and a JSON list of command lines.
"""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path

from support.plink_command import plink_here


def fill(disk: Path) -> None:
    """Leave no byte of room."""
    with contextlib.suppress(OSError), (disk / "filler").open("wb", buffering=0) as stream:
        while True:
            stream.write(bytes(256))


if __name__ == "__main__":
    folder, lines = Path(sys.argv[1]), json.loads(sys.argv[2])
    (folder / "old").write_bytes(b"old")
    fill(folder)
    done = [plink_here(*line) for line in lines]
    content = {file.name: file.read_bytes()[:3].decode() for file in folder.iterdir()}
    print(json.dumps({"done": [[each.code, each.stderr] for each in done], "disk": content}))

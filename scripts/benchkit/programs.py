"""The programs of this folder: how they are started, and how they answer, line by line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).resolve().parent


def program(name: str) -> list[str]:
    """The command line of a program; it finds this package from wherever it is started."""
    return ["env", f"PYTHONPATH={_FOLDER.parent}", sys.executable, "-m", f"{_FOLDER.name}.{name}"]


def told(process: subprocess.Popen[str]) -> str:
    """The next line that a program says; nothing if it has ended."""
    return process.stdout.readline() if process.stdout is not None else ""


def answer(process: subprocess.Popen[str]) -> dict[str, Any]:
    """The next line that a rank says, of JSON.

    Raises:
        RuntimeError: it has ended.
    """
    line = told(process)
    if not line:
        raise RuntimeError("a rank ended; what it said is above")
    answered: dict[str, Any] = json.loads(line)
    return answered

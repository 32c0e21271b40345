"""The sources of plink as installed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import plink


def modules() -> Iterator[tuple[Path, Path]]:
    """Every module of the package: its place from `plink` on, and where it lies."""
    root = Path(plink.__file__).parents[1]
    # In a checkout, parts of the package are links.
    for folder, _, files in os.walk(root / "plink", followlinks=True):
        for name in sorted(files):
            if name.endswith(".py"):
                file = Path(folder, name)
                yield file.relative_to(root), file

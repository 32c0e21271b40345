"""File names in a report, which must not reveal a machine's folders."""

from __future__ import annotations

import os
from collections.abc import Sequence

from plink.files import document


def shown_sources(paths: Sequence[str]) -> list[str]:
    """Return the files' names with just enough folders to distinguish them."""
    files = [path for path in paths if path != document.STANDARD_STREAM]
    folders = [os.path.dirname(os.path.abspath(path)) for path in files]  # noqa: PTH100, PTH120
    common = os.path.commonpath(folders) if folders else ""
    return [
        document.label(path)
        if path == document.STANDARD_STREAM
        else os.path.relpath(path, common)  # pathlib goes no folder up
        for path in paths
    ]

"""Generator of all manual pages: `python -m plink.cli.manual FOLDER`."""

from __future__ import annotations

import os
import sys
from datetime import datetime, timezone
from pathlib import Path

from plink.cli.manual.pages import pages


def main(arguments: list[str]) -> None:
    """Write the manual pages of all commands into a folder."""
    if len(arguments) != 1:
        sys.exit("usage: python -m plink.cli.manual FOLDER")
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages(_date()).items():
        (folder / f"{name}.1").write_text(text, encoding="ascii")


def _date() -> str:
    """Return today's date, or the date of a reproducible build (reproducible-builds.org)."""
    asked = os.environ.get("SOURCE_DATE_EPOCH")
    now = datetime.now(timezone.utc)
    return (datetime.fromtimestamp(int(asked), timezone.utc) if asked else now).date().isoformat()


main(sys.argv[1:])

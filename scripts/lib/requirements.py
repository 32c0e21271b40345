"""Print what plink needs with some extras, a requirement a line.

python scripts/lib/requirements.py EXTRA,EXTRA,...

pip would ask plink's wheel, but this is known before the wheel is built.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
_OWN_EXTRAS = re.compile(r"plink-collectives\[(.*)\]")


def requirements(project: Mapping[str, Any], extras: list[str]) -> list[str]:
    """Return the requirements of a project, with those of its extras and of the extras in them."""
    found = list(project["dependencies"])
    wanted = list(extras)
    while wanted:
        for requirement in project["optional-dependencies"][wanted.pop()]:
            own = _OWN_EXTRAS.fullmatch(requirement)
            if own is None:
                found.append(requirement)
            else:
                wanted += own[1].split(",")
    return found


if __name__ == "__main__":
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    print("\n".join(requirements(tomllib.loads(text)["project"], sys.argv[1].split(","))))

"""Turn what pip has chosen into requirements with the hashes of hashes.txt.

python scripts/lib/hashed.py pins                 the pins that hashes.txt alone has
python scripts/lib/hashed.py requirements FILE    of a report of `pip install --report FILE`
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
OWN = "plink-collectives"
_PIN = re.compile(r"([A-Za-z0-9_.\-]+)==([^\s;\\]+)")


def canonical(name: str) -> str:
    """Return a package's name as indexes compare it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def pins_of(text: str) -> dict[str, set[str]]:
    """Return the versions that a file of requirements pins, by canonical name."""
    found: dict[str, set[str]] = {}
    for line in text.splitlines():
        pin = _PIN.match(line)
        if pin is not None:
            found.setdefault(canonical(pin[1]), set()).add(pin[2])
    return found


def hashes_of(text: str) -> dict[tuple[str, str], list[str]]:
    """Return the hashes of hashes.txt, by canonical name and version."""
    found: dict[tuple[str, str], list[str]] = {}
    hashes: list[str] = []
    for line in text.splitlines():
        pin = _PIN.match(line)
        if pin is not None:
            hashes = found.setdefault((canonical(pin[1]), pin[2]), [])
        hashes += re.findall(r"--hash=(sha256:[0-9a-f]{64})", line)
    return found


def requirements(
    report: Mapping[str, Any], hashes: Mapping[tuple[str, str], list[str]]
) -> Iterator[str]:
    """Return a line for each package of a report, but for plink itself.

    Raises:
        SystemExit: hashes.txt does not have that version.
    """
    for each in report["install"]:
        name, version = canonical(each["metadata"]["name"]), each["metadata"]["version"]
        if name == OWN:
            continue
        known = hashes.get((name, version))
        if not known:
            sys.exit(
                f"error: hashes.txt has no hash of {name} {version}\n"
                "hint: pin it in constraints.txt, then scripts/pin-hashes"
            )
        yield " ".join([f"{name}=={version}", *(f"--hash={one}" for one in known)])


def main(words: list[str]) -> None:
    """Print what is asked for."""
    text = (ROOT / "hashes.txt").read_text(encoding="utf-8")
    if words == ["pins"]:
        pinned = pins_of((ROOT / "constraints.txt").read_text(encoding="utf-8"))
        for name, versions in pins_of(text).items():
            if name not in pinned:
                print(f"{name}=={versions.pop()}")
        return
    _, report = words
    print("\n".join(requirements(json.loads(Path(report).read_text()), hashes_of(text))))


if __name__ == "__main__":
    main(sys.argv[1:])

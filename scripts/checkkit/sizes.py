"""Hold files to one idea each by their length, and print how far a reader has to walk.

    python scripts/checkkit/sizes.py

Ends with 1 where a file is too long or a path through too many files.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts")]

PACKAGES = ("plink", "probes", "solvers", "scripts", "tests")
# A file holds one idea whole: 100 to 500 lines is normal. What is longer than this holds several.
MOST_LINES = 800
# Options made of the request, the verb and the driver of searches are three of them.
MOST_FILES_OF_A_RING_ORDER = 8
MOST_FILES_OF_A_PROBE = 9
_SUFFIXES = {".py", ".c", ".cpp", ".hpp", ".sh"}


def main() -> int:
    """Print the numbers, and say what is too large."""
    from checkkit.paths import probe_path, ring_order_path  # noqa: PLC0415  after sys.path

    lines = {file: len((ROOT / file).read_text().splitlines()) for file in sources()}
    print(f"{'':10}{'modules':>9}{'lines':>9}  longest")
    for package in PACKAGES:
        own = {file: n for file, n in lines.items() if is_module(file) and file.parts[0] == package}
        longest = max(own, key=lambda file: own[file])
        print(f"{package:10}{len(own):>9,}{sum(own.values()):>9,}  {own[longest]} {longest}")
    wrong = [
        f"{file} has {n} lines, more than {MOST_LINES}: split it by idea"
        for file, n in sorted(lines.items())
        if n > MOST_LINES
    ]
    ring = ring_order_path()
    wrong += show_path("plink order --algo ring", ring, MOST_FILES_OF_A_RING_ORDER, "the search")
    wrong += show_path("plink probe", probe_path(), MOST_FILES_OF_A_PROBE, "plink/probes/")
    for what in wrong:
        print(what, file=sys.stderr)
    return 1 if wrong else 0


def sources() -> list[Path]:
    """All files of code under version control or about to be, relative to the checkout."""
    command = ["git", "-c", "safe.directory=*", "-C", str(ROOT), "ls-files", "-z"]
    command += ["--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    files = [Path(name) for name in listed.split("\0") if name]
    return [file for file in files if is_source(file) and (ROOT / file).is_file()]


def is_source(file: Path) -> bool:
    """Whether it is code, by its suffix or as a script without one."""
    return file.suffix in _SUFFIXES or (file.parent == Path("scripts") and not file.suffix)


def is_module(file: Path) -> bool:
    """Whether it is a module of Python that holds more than its package's docstring."""
    return file.suffix == ".py" and file.name != "__init__.py"


def show_path(what: str, files: Sequence[str], most: int, end: str) -> list[str]:
    """Print the files of a path; return what is wrong with it."""
    print(f"{what}: {len(files)} files before {end}")
    for file in files:
        print(f"  {file}")
    return (
        [f"{what} goes through {len(files)} files, more than {most}"] if len(files) > most else []
    )


if __name__ == "__main__":
    sys.exit(main())

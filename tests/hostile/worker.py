"""Runs the cases of verbs in one process, in an empty folder that its argument names.

A line comes in per verb, a line goes out per case.

A request is `{"verb": ..., "first": ..., "shares": ..., "seed": ...}`; before every case its number
and name are written, and then its faults. A case that never ends is ended by an alarm, and one that
does not even hear that by who started this program.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from unittest import mock

from hostile.cases import Case, Folders, cases
from hostile.sandbox import Sandbox, Terminal, is_in
from hostile.valid import write_all
from hostile.verbs import verbs
from hostile.verdict import Outcome, faults
from plink.base import opening
from plink.cli import cli, run

# Of the processor, and of the clock, which goes on while others compute.
_MOST_CPU_S = 8
_MOST_SECONDS = 60
# What a file of the largest size that is read may take, as it is, and once more.
_MORE_MEMORY_BYTES = 3 << 30
_COMPARED_BYTES = 1 << 22


class TooLateError(BaseException):
    """The alarm: nothing catches it."""


def main() -> None:
    """Serve requests until standard input ends."""
    folders = Folders(Path(sys.argv[1]).resolve())
    folders.make()
    valid = write_all(folders.valid)
    _settle(folders)
    sandbox = Sandbox()
    known = dict(verbs(cli))
    for line in sys.stdin:
        request = json.loads(line)
        verb = request["verb"]
        drawn = cases(verb, known[verb], valid, request["shares"], request["seed"])
        for number, case in enumerate(drawn):
            if number >= request["first"]:
                _say({"number": number, "name": f"{verb} {case.name}"})
                _say({"faults": list(_tried(case, folders, sandbox))})
        _say({"done": verb})


def _settle(folders: Folders) -> None:
    for name in list(os.environ):
        if name.startswith(("PLINK_", "SSH_", "SLURM_")) or name == "NO_COLOR":
            del os.environ[name]
    os.environ.update(HOME=str(folders.home), TMPDIR=str(folders.temporary), LOGNAME="me")
    tempfile.tempdir = None
    os.chdir(folders.here)
    for number in (signal.SIGALRM, signal.SIGPROF):
        signal.signal(number, _ring)
    # Nobody will write, and the tests have no time to wait for it.
    opening.WRITER_WAIT_S = 0.05


def _ring(_number: int, _frame: object) -> None:
    raise TooLateError


def _tried(case: Case, folders: Folders, sandbox: Sandbox) -> Iterator[str]:
    arguments = case.arguments(folders)
    before, valid_before = _contents(folders.hostile), _stamps(folders.valid)
    stdout, stderr = Terminal(), Terminal()
    code, raised = None, None
    began_s = time.process_time()
    limit_bytes = _memory_bytes() + _MORE_MEMORY_BYTES
    with (
        mock.patch.object(sys, "stdin", Terminal()),
        redirect_stdout(stdout),
        redirect_stderr(stderr),
    ):
        sandbox.begin()
        resource.setrlimit(resource.RLIMIT_AS, (limit_bytes, resource.RLIM_INFINITY))
        signal.setitimer(signal.ITIMER_PROF, _MOST_CPU_S)
        signal.alarm(_MOST_SECONDS)
        try:
            code = run(arguments)
        except BaseException as error:
            raised = _place(error)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.alarm(0)
            resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)
            sandbox.end()
    allowed = [folders.out, folders.temporary, *([folders.root] if case.may_write else [])]
    yield from faults(
        Outcome(
            code,
            stdout.shown(),
            stderr.shown(),
            raised,
            time.process_time() - began_s,
            [] if case.may_start else sandbox.started,
            [path for path in sandbox.changed if not is_in(path, *allowed) and not _is_null(path)],
            [
                *_differing(before, _contents(folders.hostile)),
                *_differing(valid_before, _stamps(folders.valid)),
            ],
        )
    )
    yield from _tidy(folders, is_told=not case.may_write)


def _differing(before: Mapping[str, object], after: Mapping[str, object]) -> list[str]:
    """The files that are not what they were, or not there."""
    return [name for name in before | after if before.get(name) != after.get(name)]


def _is_null(path: str) -> bool:
    return path in (os.devnull, "/dev/zero", "/dev/tty")


def _place(error: BaseException) -> str:
    last = traceback.extract_tb(error.__traceback__)[-1]
    own = [
        frame for frame in traceback.extract_tb(error.__traceback__) if "/plink/" in frame.filename
    ]
    nearest = own[-1] if own else last
    return f"{type(error).__name__}: {str(error)[:120]!r} at {nearest.filename}:{nearest.lineno}"


def _memory_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * resource.getpagesize()


def _contents(folder: Path) -> dict[str, bytes]:
    """The ordinary files of a folder, by name."""
    return {
        file.name: file.read_bytes()
        for file in folder.iterdir()
        if file.is_file() and not file.is_symlink() and file.stat().st_size < _COMPARED_BYTES
    }


def _stamps(folder: Path) -> dict[str, tuple[int, int, int]]:
    """When each file of a folder changed, which files it is, and its size; by name.

    Enough for files that were written long before.
    """
    stamps = {}
    with os.scandir(folder) as entries:
        for entry in entries:
            found = entry.stat(follow_symlinks=False)
            stamps[entry.name] = (found.st_mtime_ns, found.st_ino, found.st_size)
    return stamps


def _tidy(folders: Folders, *, is_told: bool) -> Iterator[str]:
    """Empty all folders; what should not be there is told."""
    for folder in (folders.here, folders.temporary, folders.home):
        for left in folder.iterdir():
            if is_told:
                yield f"left {left.name!r} in the {folder.name} folder"
            _remove(left)
    for folder in (folders.out, folders.hostile):
        for each in folder.iterdir():
            _remove(each)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def _say(data: dict[str, object]) -> None:
    sys.__stdout__.write(json.dumps(data) + "\n")  # type: ignore[union-attr]
    sys.__stdout__.flush()  # type: ignore[union-attr]


if __name__ == "__main__":
    main()

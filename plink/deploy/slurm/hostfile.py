"""Host file that srun reads, and the shell lines that make srun use it.

A task prolog's standard output is not read by a shell: `export NAME=value`, unquoted. So the path
holds nothing that a shell would take for more than a letter.
"""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from plink.base.errors import PlinkError
from plink.base.text import brief
from plink.deploy.launchers.slurm import render_hostfile
from plink.formats import document
from plink.formats.hosts import Host

_PLAIN = re.compile(r"/[A-Za-z0-9_./+@:,=-]+")
_SUFFIX = ".hosts"
# A job is over by then.
_KEPT_S = 60 * 86400.0


def write_hostfile(hosts: Sequence[Host], path: str | None, folder: Path, job: str) -> str:
    """Write srun's host file, with a line for every task; return its path.

    Args:
        hosts: in rank order.
        path: where the user wants it; None for a file of the job's in `folder`.
        folder: of the files of jobs; where it cannot be written, a temporary one serves.
        job: its number.

    Raises:
        PlinkError: it cannot be written, or has a name that no line can hold.
    """
    content = render_hostfile(hosts).encode()
    if path is not None:
        wanted = str(Path(path).absolute())
        if not _PLAIN.fullmatch(wanted):
            raise PlinkError(
                f"the path {brief(wanted)} has characters that are not safe in a shell assignment",
                "choose a path, current folder included, of letters, digits and . _ + @ : , = - /",
            )
        document.write_bytes(wanted, content)
        return wanted
    own = str((folder / f"{job}{_SUFFIX}").absolute())
    if _PLAIN.fullmatch(own):
        with suppress(OSError, PlinkError):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            document.write_bytes(own, content)
            _drop_old(folder)
            return own
    elsewhere = Path(tempfile.mkdtemp(prefix="plink-slurm-", dir="/tmp")) / f"{job}{_SUFFIX}"
    document.write_bytes(str(elsewhere), content)
    return str(elsewhere)


def shell_lines(hostfile: str) -> str:
    """Return the lines that a job script evaluates, or that a task prolog prints."""
    return f"export SLURM_HOSTFILE={hostfile}\nexport SLURM_DISTRIBUTION=arbitrary\n"


def _drop_old(folder: Path) -> None:
    for file in folder.glob(f"*{_SUFFIX}"):
        if time.time() - file.stat().st_mtime > _KEPT_S:
            file.unlink(missing_ok=True)

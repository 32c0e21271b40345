"""The script for torchrun starts every host's command, hands arguments on, and ends as they do."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from plink.deploy.launchers import FORMATS
from plink.formats.hosts import Host

HOSTS = [Host("b", "10.0.0.2"), Host("a", "10.0.0.1", slots=2)]

# Stands for ssh and for torchrun: runs the command here, and says what it was.
SSH = '#!/bin/sh\n[ "$1" = -n ] && shift\nexport ON=$1\nexec sh -c "$2"\n'
TORCHRUN = """\
#!/bin/sh
# In one piece, for both hosts write at once.
printf '%s\\n' "$ON$(printf ' <%s>' "$@")"
[ "$ON" != "$FAILS" ] || exit 7
"""


def run(folder: Path, fails: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    for name, text in {"ssh": SSH, "torchrun": TORCHRUN}.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o700)
    (folder / "script").write_text(FORMATS["torchrun-script"].render(HOSTS))
    return subprocess.run(
        ["sh", folder / "script", *arguments],
        env={"PATH": f"{folder}:{os.environ['PATH']}", "FAILS": fails},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def test_every_host_gets_its_command_and_the_arguments_as_they_are(tmp_path: Path) -> None:
    done = run(tmp_path, "", "my train.py", "--name", "it's $HOME", "")
    assert done.returncode == 0
    common = "<--master-addr=10.0.0.2> <--master-port=29500> <my train.py> <--name> <it's $HOME> <>"
    assert sorted(done.stdout.splitlines()) == [
        "a <--rdzv-backend=static> <--nnodes=2> <--node-rank=1> <--nproc-per-node=2> " + common,
        "b <--rdzv-backend=static> <--nnodes=2> <--node-rank=0> <--nproc-per-node=1> " + common,
    ]


@pytest.mark.parametrize("fails", ["a", "b"])
def test_a_failure_is_the_scripts_own(tmp_path: Path, fails: str) -> None:
    assert run(tmp_path, fails, "train.py").returncode == 7

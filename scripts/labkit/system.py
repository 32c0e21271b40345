"""Running other programs: `ip`, `tc`, `ssh-keygen`, `sshd`."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence

from labkit.errors import LabError

PACKAGES = {
    "ip": "iproute2",
    "tc": "iproute2",
    "bridge": "iproute2",
    "sshd": "openssh-server",
    "ssh-keygen": "openssh-client",
    "unshare": "util-linux",
    "nsenter": "util-linux",
    "mount": "mount",
    "hostname": "hostname",
}
# An ordinary user's PATH often lacks the folders that these programs are in.
SYSTEM_PATH = os.pathsep.join(
    [os.environ.get("PATH", os.defpath), "/usr/local/sbin", "/usr/sbin", "/sbin"]
)


def require_programs() -> None:
    """Make sure that every program the lab needs is installed.

    Raises:
        LabError: names what is missing, and the Debian packages that bring it.
    """
    missing = [name for name in PACKAGES if shutil.which(name, path=SYSTEM_PATH) is None]
    if missing:
        packages = sorted({PACKAGES[name] for name in missing})
        raise LabError(
            f"the lab needs {', '.join(missing)}", f"apt-get install {' '.join(packages)}"
        )


def path_of(program: str) -> str:
    """The absolute path of a program, which `sshd` insists on being started by.

    Raises:
        LabError: it is not installed.
    """
    found = shutil.which(program, path=SYSTEM_PATH)
    if found is None:
        package = PACKAGES.get(program, program)
        raise LabError(f"the lab needs {program}", f"apt-get install {package}")
    return found


def run(argv: Sequence[str], text: str = "") -> str:
    """Run a program with this on its standard input; return its standard output.

    Raises:
        LabError: it failed; the message has the first line of its output.
    """
    done = subprocess.run(
        [path_of(argv[0]), *argv[1:]], input=text, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        reason = (done.stderr or done.stdout).strip().splitlines() or ["no reason given"]
        raise LabError(f"{' '.join(argv[:4])} failed: {reason[0]}")
    return done.stdout

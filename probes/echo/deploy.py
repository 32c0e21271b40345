"""Which echo agent goes to a host, and how it is started there."""

from __future__ import annotations

import platform
import shlex
from functools import cache
from pathlib import Path

from probes.errors import HostError, OptionError
from probes.facts import HostFacts
from probes.ssh.session import Session
from probes.ssh.upload import Program, upload

_AGENT_FILE = Path(__file__).parent / "bin" / "plink-echo-agent"


def deploy(session: Session, facts: HostFacts, cache_folder: str | None) -> str:
    """Make sure that the agent is on the host.

    Args:
        cache_folder: where to put it instead of `~/.cache/plink`, or None.

    Returns:
        Its path there.

    Raises:
        HostError: another processor, or it cannot be put there.
        OptionError: the agent is not installed here.
    """
    if facts.architecture != platform.machine():
        raise HostError(
            session.host,
            f"its processor is {facts.architecture}, and the echo agent is for "
            f"{platform.machine()}",
            "use --tool fping",
        )
    return upload(session, _agent(), cache_folder)


def start_command(path: str) -> str:
    """The shell command that starts the agent at `path`."""
    return f"exec {shlex.quote(path)}"


@cache
def _agent() -> Program:
    try:
        return Program("plink-echo-agent", _AGENT_FILE.read_bytes())
    except OSError:
        raise OptionError(
            f"the echo agent is not part of this installation ({_AGENT_FILE})",
            "reinstall plink, or use --tool fping",
        ) from None

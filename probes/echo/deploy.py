"""Which agent goes to the hosts of a run, and how it is started there."""

from __future__ import annotations

import platform
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from probes.errors import HostError, OptionError
from probes.reach import ReachedHost
from probes.ssh.upload import Program, upload


@dataclass(frozen=True)
class AgentProgram:
    """An agent that speaks `probes.echo.protocol`.

    Args:
        name: what it is called to the user.
        file: the executable as installed here.
        start_command: from a host and the agent's path there to the shell command that starts it.
        hint: what to do where it is not installed here.
        cores_per_pair: how many cores the two ends of a pair take where they share a machine.
    """

    name: str
    file: Path
    start_command: Callable[[ReachedHost, str], str]
    hint: str
    cores_per_pair: int = 1


def deploy(host: ReachedHost, agent: AgentProgram, cache_folder: str | None) -> str:
    """Make sure that the agent is on the host.

    Args:
        cache_folder: where to put it instead of `~/.cache/plink`, or None.

    Returns:
        Its path there.

    Raises:
        HostError: another processor, or it cannot be copied there.
        OptionError: the agent is not installed here.
    """
    if host.facts.architecture != platform.machine():
        raise HostError(
            host.session.host,
            f"its processor is {host.facts.architecture}, and the {agent.name} is for "
            f"{platform.machine()}",
            "use tool=fping",
        )
    return upload(host.session, _program(agent), cache_folder)


@cache
def _program(agent: AgentProgram) -> Program:
    try:
        return Program(agent.file.name, agent.file.read_bytes())
    except OSError:
        raise OptionError(
            f"the {agent.name} is not part of this installation ({agent.file})", agent.hint
        ) from None


ECHO_AGENT = AgentProgram(
    name="echo agent",
    file=Path(__file__).parent / "bin" / "plink-echo-agent",
    start_command=lambda _, path: f"exec {shlex.quote(path)}",
    hint="reinstall plink, or use tool=fping",
)

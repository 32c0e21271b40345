"""Echo agents on the hosts of a run: choice and upload of the program, start, messages."""

from __future__ import annotations

import platform
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from plink.probes.echo import ECHO_AGENT_FILE
from plink.probes.echo.protocol import Event, parse_event
from plink.probes.errors import HostError, OptionError
from plink.probes.reach import ReachedHost
from plink.probes.remote.processes import HostPrograms, run_on_all
from plink.probes.remote.session import RemoteProcess
from plink.probes.remote.upload import EXEC, Program, start_words, upload


@dataclass(frozen=True)
class AgentProgram:
    """Agent program that speaks `plink.probes.echo.protocol`.

    Args:
        name: what it is called to the user.
        file: the executable as installed here.
        hint: what to do where it is not installed here.
        arguments: what it is started with on a host.
        start: what the shell there does to start it (`plink.probes.remote.upload.EXEC`).
        cores_per_pair: how many cores the two ends of a pair take where they share a machine.
    """

    name: str
    file: Path
    hint: str
    arguments: Callable[[ReachedHost], Sequence[str]] = lambda _: ()
    start: str = EXEC
    cores_per_pair: int = 1


def deploy(host: ReachedHost, agent: AgentProgram, cache_folder: str | None) -> str:
    """Upload the agent to a host unless it is there already.

    Args:
        cache_folder: where to put it instead of `~/.cache/plink`, or None.

    Returns:
        The shell command that starts it there.

    Raises:
        HostError: another processor, or it cannot be copied there.
        OptionError: the agent is not installed here.
    """
    if host.facts.architecture != platform.machine():
        raise HostError(
            host.session.host,
            f"its processor is {host.facts.architecture}, but the {agent.name} is built for "
            f"{platform.machine()}",
            "use tool=fping",
        )
    program = _program(agent)
    upload(host.session, program, cache_folder)
    return shlex.join(start_words(program, cache_folder, agent.arguments(host), agent.start))


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
    file=ECHO_AGENT_FILE,
    hint="reinstall plink, or use tool=fping",
)


class Agents(HostPrograms[Event]):
    """Running agents on all hosts.

    Args:
        hosts: the hosts, in index order.
        agent: what runs on them.
        cache_folder: where the agent's file goes on the hosts, or None for the user's cache.
    """

    farewell = "stop\n"

    def __init__(
        self, hosts: Sequence[ReachedHost], agent: AgentProgram, cache_folder: str | None
    ) -> None:
        super().__init__()
        self._hosts = hosts
        self._agent = agent
        self._cache_folder = cache_folder

    def start(self, concurrency: int) -> dict[int, HostError]:
        """Deploy and start an agent on every host, `concurrency` at a time; return the failures."""
        # All are deployed before the first starts: an agent to which nobody speaks ends, and a slow
        # line may take minutes for the files of many hosts.
        indices = range(len(self._hosts))
        commands, failures = run_on_all(self._deploy, indices, concurrency)
        processes, not_started = run_on_all(
            lambda index: self._start(index, commands[index]), list(commands), concurrency
        )
        for index, process in processes.items():
            self.listen(index, process)
        return dict(sorted({**failures, **not_started}.items()))

    def parse(self, line: str) -> Event:
        """Parse a line of an agent."""
        return parse_event(line)

    def explain_end(self, process: RemoteProcess) -> str:
        """Return why an agent that was not told to has ended."""
        return process.stderr_tail() or "its echo agent ended"

    def _deploy(self, index: int) -> str:
        return deploy(self._hosts[index], self._agent, self._cache_folder)

    def _start(self, index: int, command: str) -> RemoteProcess:
        return self._hosts[index].session.start(command)

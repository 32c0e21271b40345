"""Options of sessions through a command."""

from __future__ import annotations

from dataclasses import dataclass

# In place of a command: SSH itself, for a host list that would choose a command.
SSH = "ssh"


@dataclass(frozen=True)
class ViaOptions:
    """Command template that reaches every host of a run.

    Args:
        template: as `plink.probes.via.template.parse_template` takes it.
        concurrency: commands that start at once.
        timeout_s: how long a host may take for its first answer; a job step or a pod takes seconds.
    """

    template: str
    concurrency: int = 16
    timeout_s: float = 60.0

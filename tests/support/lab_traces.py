"""What a lab leaves on a machine, and what it must not touch."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Traces:
    """All that a lab of some name could leave on a machine."""

    namespaces: list[str]
    interfaces: list[str]
    processes: list[str]
    registered: bool


def traces(name: str) -> Traces:
    """The present traces of a lab of this name. Its folder must have the name too."""
    links = json.loads(subprocess.check_output(["ip", "-json", "link"]))
    processes = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if name in line:
            processes.append(line)
    return Traces(
        namespaces=[path.name for path in Path("/run/netns").glob(f"plink.{name}.*")],
        interfaces=[link["ifname"] for link in links if link["ifname"] == f"pl-{name}"],
        processes=processes,
        registered=Path("/run/plink-lab", name, "state.json").exists(),
    )


NO_TRACES = Traces([], [], [], False)


def machine_networking() -> tuple[str, str, list[str]]:
    """Links, routes and per-namespace files of the machine, other labs' apart."""
    links = subprocess.check_output(["ip", "-brief", "link"], text=True)
    routes = subprocess.check_output(["ip", "route", "show", "table", "all"], text=True)
    files = sorted(map(str, Path("/etc/netns").rglob("*")))
    return _without_labs(links), _without_labs(routes), files


def _without_labs(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if "pl-" not in line)

"""The table of channels in docs/security.md has every port that plink opens."""

from __future__ import annotations

import re
from pathlib import Path

from support.sources import modules

PAGE = Path(__file__).resolve().parents[2] / "docs" / "security.md"
_OPENS = re.compile(r"\.listen\(_[A-Z]|\bcreate_server\(|asyncio\.start_server\(|SOCK_RAW")

# Modules that open ports, and the beginnings of their rows.
ROWS = {
    "plink/engine/addresses.py": [
        "the engine's set-up and data (TCP)",
        "shared memory",
        "a port for each process of a job whose [members come and go]",
    ],
    "plink/hub/serving/server.py": [
        "[the hub](hub.md#sessions): control connections",
        "the hub: connections for data",
    ],
    "plink/transport/listening.py": ["the autotune daemon", "metrics"],
    "plink/renumber/measuring.py": ["the measuring port of [`torchrun`'s agents]"],
    "plink/renumber/tcp_store.py": ["the meeting place of [`plink renumber`]"],
    # Ports that PyTorch's store takes then.
    "plink/torchrun/handler.py": ["stores"],
    "plink/ray/__init__.py": ["stores"],
    "plink/probes/calls/listener.py": ["[agents that call]"],
    "plink/probes/trace/worker.py": ["tracing of routes"],
}
OF_OTHERS = ["SSH", "the agents' UDP", "servers of [iperf3]", "Gloo", "files that plink reads"]


def test_every_port_has_a_row() -> None:
    opening = {
        f"plink/{place.as_posix().removeprefix('plink/')}"
        for place, file in modules()
        if _OPENS.search(file.read_text(encoding="utf-8"))
    }
    assert opening == set(ROWS)


def test_every_row_says_all() -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    begin = lines.index(next(line for line in lines if line.startswith("| channel |")))
    rows = []
    for line in lines[begin + 2 :]:
        if not line.startswith("|"):
            break
        rows.append(line)
    columns = lines[begin].count("|")
    assert {row.count("|") for row in rows} == {columns}
    for name in [*(name for names in ROWS.values() for name in names), *OF_OTHERS]:
        assert [row for row in rows if row.startswith(f"| {name}")], name

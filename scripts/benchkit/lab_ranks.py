"""A program on every host: a task in as one line of JSON, an answer out as another."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from benchkit.hosts import Hosts
from benchkit.programs import program


def answers_of_ranks(
    lab: Hosts, hosts: Sequence[str], name: str, task: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """What every rank answered.

    Args:
        lab: that stands, or this host alone.
        hosts: of each rank.
        name: of the program.
        task: for all ranks; each is also told its `rank` and its host's `address`.

    Raises:
        SystemExit: a rank failed.
    """
    processes = []
    for rank, host in enumerate(hosts):
        process = subprocess.Popen(
            [*lab.command_on(host), *program(name)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd="/",
        )
        own_task = {**task, "rank": rank, "address": lab.addresses[host]}
        print(json.dumps(own_task), file=process.stdin, flush=True)
        processes.append(process)
    # All at the same time: one whose answer is not read would keep those waiting that it meets.
    with ThreadPoolExecutor(len(processes)) as readers:
        answers = [said for said, _ in readers.map(subprocess.Popen.communicate, processes)]
    if any(process.returncode for process in processes):
        raise SystemExit("a rank failed")
    return [json.loads(answer) for answer in answers]

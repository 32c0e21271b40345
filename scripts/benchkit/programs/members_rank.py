"""One rank of the benchmark members: steps without end, told one by one.

A JSON object on standard input says which way and who it is.
"""

from __future__ import annotations

import json
import sys
import time
from datetime import timedelta
from typing import Any

import numpy as np

from plink.engine import DirectoryStore, EngineError, Members, Options

TIMEOUT = timedelta(seconds=60)


def main() -> None:
    """Go on until killed."""
    task = json.loads(sys.stdin.readline())
    if task["way"] == "members":
        by_members(task)
    else:
        by_torchft(task)


def say(members: int) -> None:
    """A step is done."""
    print(json.dumps({"members": members, "at": time.monotonic()}), flush=True)


def by_members(task: dict[str, Any]) -> None:
    """plink's engine alone."""
    store = DirectoryStore(f"{task['store']}/meeting")
    options = Options(addresses=("127.0.0.1",))
    members = Members(task["rank"], task["ranks"], store, None, options)
    gradients = np.ones(task["items"], dtype=np.float32)
    while True:
        try:
            members.allreduce(gradients, "mean").wait()
            members.commit()
        except EngineError:
            members.reconfigure()
        else:
            say(members.ranks)


def by_torchft(task: dict[str, Any]) -> None:
    """A manager, on plink or on Gloo."""
    import torch  # noqa: PLC0415
    import torchft  # noqa: PLC0415
    from torch.distributed import TCPStore  # type: ignore[attr-defined] # noqa: PLC0415

    from plink.torch.fault_tolerance import ProcessGroupPlink  # noqa: PLC0415

    torch.set_num_threads(1)
    kind = ProcessGroupPlink if task["way"] == "torchft-plink" else torchft.ProcessGroupGloo
    store = TCPStore("localhost", 0, is_master=True, wait_for_workers=False)
    gradients = torch.ones(task["items"])
    manager = torchft.Manager(
        pg=kind(timeout=TIMEOUT),
        load_state_dict=lambda _: None,
        state_dict=dict,
        min_replica_size=1,
        init_sync=False,
        replica_id=f"replica_{task['rank']}",
        rank=0,
        world_size=1,
        store_addr="localhost",
        store_port=store.port,
        timeout=TIMEOUT,
    )
    while True:
        manager.start_quorum()
        manager.allreduce(gradients).wait()
        if manager.should_commit():
            say(manager.num_participants())


if __name__ == "__main__":
    main()

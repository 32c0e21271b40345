"""The one real rank among peers that `crowd_peers` plays: it sets up a group, and says how long
that took."""

from __future__ import annotations

import json
import os
import sys
import time
from datetime import timedelta

from torch._C._distributed_c10d import PrefixStore, TCPStore

import plink.torch
from plink.engine import Options

TIMEOUT = timedelta(seconds=120)


def main() -> None:
    """Set up once."""
    task = json.loads(sys.stdin.readline())
    os.environ["PLINK_SOCKET_IFNAME"] = "lo"
    store = TCPStore("127.0.0.1", task["port"], None, False, TIMEOUT)
    options = Options(workers=task["workers"], shared_memory=False)
    used, began = time.process_time(), time.perf_counter()
    plink.torch.create(PrefixStore("job", store), task["rank"], task["ranks"], TIMEOUT, options)
    took, used = time.perf_counter() - began, time.process_time() - used
    print(json.dumps({"seconds": took, "cpu_s": used}), flush=True)
    # Its peers are nobody to say farewell to.
    os._exit(0)


if __name__ == "__main__":
    main()

"""Many agents in one process, a thread each, by the code of `plink agent`."""

from __future__ import annotations

import json
import sys
import threading

from plink.probes.calls.agent import CallTarget, derive_keys, serve


def main() -> None:
    """Call until the input ends."""
    task = json.loads(sys.stdin.readline())
    keys = derive_keys(task["secret"].encode())
    for name in task["names"]:
        home = CallTarget("127.0.0.1", task["port"], keys, name)
        threading.Thread(target=serve, args=(home, lambda _: None), daemon=True).start()
    sys.stdin.read()


if __name__ == "__main__":
    main()

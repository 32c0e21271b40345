"""`plink probe --listen` until all have called; it then holds their calls until its input ends."""

from __future__ import annotations

import json
import sys

from plink.probes.calls.listener import gather
from plink.probes.options import ListenOptions


def main() -> None:
    """Say the port, and how many have called."""
    task = json.loads(sys.stdin.readline())
    options = ListenOptions("127.0.0.1", 0, task["secret"].encode(), wait_s=task["wait_s"])
    callers = gather(options, task["agents"], lambda port: say({"port": port}))
    say({"called": len(callers.hosts), "refused": callers.refusals()})
    sys.stdin.read()
    callers.close()


def say(what: dict[str, object]) -> None:
    """Print a line of JSON."""
    print(json.dumps(what), flush=True)


if __name__ == "__main__":
    main()

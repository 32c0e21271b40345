"""A hub's server for a benchmark: told by a line of JSON, it says its addresses, and ends with its
input.
"""

from __future__ import annotations

import json
import sys

from plink.hub.serving import Server, ServerOptions


def main() -> None:
    """Serve until standard input ends."""
    task = json.loads(sys.stdin.readline())
    options = ServerOptions(
        listen=task["listen"], cores=task.get("cores", 1), secret=task["secret"].encode()
    )
    with Server(options) as server:
        print(json.dumps({"addresses": list(server.addresses)}), flush=True)
        for _ in sys.stdin:
            pass


if __name__ == "__main__":
    main()

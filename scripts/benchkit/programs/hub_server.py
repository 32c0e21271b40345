"""A server of the benchmark hub, which makes services as it is told.

The first line of standard input says where to listen; each further one what to do. All are JSON,
and each is answered by a line of JSON on standard output.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from pathlib import Path
from typing import Any

from plink.hub.serving import Server, ServerOptions


def main() -> None:
    """Serve until standard input ends."""
    output = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)
    task = json.loads(sys.stdin.readline())
    options = ServerOptions(
        listen=task["listen"], cores=task["cores"], secret=Path(task["secret_file"]).read_bytes()
    )
    with Server(options) as server:
        print(json.dumps({"address": server.address}), file=output)
        for line in sys.stdin:
            command = json.loads(line)
            answer: dict[str, Any] = {}
            if command["do"] == "cpu":
                usage = resource.getrusage(resource.RUSAGE_SELF)
                answer = {"cpu_s": usage.ru_utime + usage.ru_stime}
            print(json.dumps(answer), file=output)


if __name__ == "__main__":
    main()

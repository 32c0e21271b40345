"""A server of hubs for benchmarks, which makes services as it is told.

The first line of standard input says where to listen; each further one what to do. All are JSON,
and each is answered by a line of JSON on standard output.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from typing import Any

import msgspec

from plink.hub.admin import (
    checkpoint,
    create_service,
    create_service_of_racks,
    delete_service,
    server_status,
)
from plink.hub.service import ServiceOptions
from plink.hub.serving import Server, ServerOptions


def main() -> None:
    """Serve until standard input ends."""
    output = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)
    task = json.loads(sys.stdin.readline())
    secret = task["secret"].encode()
    folder = task.get("snapshots")
    options = ServerOptions(task["listen"], secret, cores=task.get("cores", 1), snapshots=folder)
    with Server(options) as server:
        print(json.dumps({"addresses": list(server.addresses)}), file=output)
        for line in sys.stdin:
            command = json.loads(line)
            command["here"] = server.addresses[0]
            print(json.dumps(_execute(command, secret)), file=output)


def _execute(command: dict[str, Any], secret: bytes) -> dict[str, Any]:
    """What is answered to a command: `create`, `create_racks`, `delete`, `status`,
    `checkpoint` or `cpu`.
    """
    servers = command.get("servers", [])
    if command["do"] == "create":
        own = create_service(servers, secret, ServiceOptions(**command["options"]))
        return {"secret": own.hex()}
    if command["do"] == "create_racks":
        own = create_service_of_racks(servers, secret, ServiceOptions(**command["options"]))
        return {"secret": own.hex()}
    if command["do"] == "delete":
        delete_service(servers, secret, command["namespace"])
        return {}
    if command["do"] == "checkpoint":
        checkpoint(servers, secret, command["namespace"])
        return {}
    if command["do"] == "status":
        namespaces = command["namespaces"]
        found = [server_status(command["here"], secret, name).services[0] for name in namespaces]
        return {"at_s": time.monotonic(), "services": msgspec.to_builtins(found)}
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return {"cpu_s": usage.ru_utime + usage.ru_stime}


if __name__ == "__main__":
    main()

"""A server or a worker as a process: its task comes in by standard input, JSON lines go out."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from plink.base.errors import PlinkError
from plink.hub.hyper import Hyper
from plink.hub.manifest import Key, Manifest
from plink.hub.serving import Server, ServerOptions
from plink.hub.worker import Worker


def say(**what: object) -> None:
    print(json.dumps(what), flush=True)


def serve(task: dict[str, Any]) -> None:
    task["secret"] = task["secret"].encode()
    with Server(ServerOptions(**task)) as server:
        say(event="serving", addresses=server.addresses)
        sys.stdin.readline()


def gradient(seed: int, iteration: int, number: int, items: int) -> np.ndarray[Any, Any]:
    generator = np.random.default_rng([seed, iteration, number])
    return generator.standard_normal(items, dtype=np.float32)


def work(task: dict[str, Any]) -> None:
    keys = tuple(Key(f"key{i}", (size,), group) for i, (size, group) in enumerate(task["keys"]))
    manifest = Manifest(keys, task.get("groups", 1))
    hypers = [Hyper(**hyper) for hyper in task["hypers"]]
    times_s = []
    seen = {}
    with Worker(task["servers"], task["namespace"], task["secret"].encode(), manifest) as worker:
        first = np.random.default_rng(task["seed"]).standard_normal(manifest.items, np.float32)
        worker.initialise(first)
        say(event="running", number=worker.number, iteration=worker.iteration)
        # A process in another's place does what is left to do.
        end = task.get("until", worker.iteration + task["iterations"] - 1)
        while worker.iteration <= end:
            if "scale" in task:
                worker.gradients[:] = task["scale"] * 2.0**worker.number
            elif not task.get("is_still"):
                worker.gradients[:] = gradient(
                    task["seed"], worker.iteration, worker.number, manifest.items
                )
            begun_s = time.monotonic()
            step = worker.push_pull(hypers)
            times_s.append(time.monotonic() - begun_s)
            if "scale" in task:
                ends = [float(worker.values.min()), float(worker.values.max())]
                seen[step.iteration] = [*ends, step.workers]
            if Path(task.get("until_there", "")).is_file():
                break
            time.sleep(task.get("pause_s", 0.0))
        digest = hashlib.sha256(worker.values.tobytes()).hexdigest()
        last = dataclasses.asdict(step)
        process_s = time.process_time()
    # Whoever hears it may end this process, which has left by now and is not lost.
    say(event="done", number=worker.number, digest=digest, times_s=times_s, last=last,
        process_s=process_s, seen=seen)  # fmt: skip


def main() -> None:
    task = json.loads(sys.stdin.readline())
    try:
        (serve if task.pop("is_server", False) else work)(task)
    except PlinkError as error:
        say(event="failed", message=str(error), hint=error.hint)


if __name__ == "__main__":
    main()

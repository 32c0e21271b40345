"""Ranks that are processes with PyTorch, forked from a server that has imported it once."""

from __future__ import annotations

import contextlib
import datetime
import faulthandler
import functools
import multiprocessing
import os
import signal
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

from support.netns import enter_namespace

END_TIMEOUT_S = 180.0
GROUP_TIMEOUT_S = 40.0
_SHOWING_S = 2.0

Check = Callable[..., Any]

# What processes with PyTorch are forked from.
FORKED = multiprocessing.get_context("forkserver")
# DistributedDataParallel imports the third when it is first used.
FORKED.set_forkserver_preload(["plink.torch", "torch.nn.parallel", "torch._dynamo"])


@functools.cache
def await_server() -> None:
    """Wait until the server has imported PyTorch, so that no rank's time runs before."""
    first = FORKED.Process(target=int)
    first.start()
    first.join()


class SilenceError(AssertionError):
    """A rank says nothing for `END_TIMEOUT_S`."""


class Rank:
    """One process, and what it says: results, in the order of its checks, or how it failed."""

    def __init__(self, process: ForkServerProcess, ear: Connection) -> None:
        self.process = process
        self._ear = ear

    def hear(self) -> Any:
        """What the check said or returned."""
        if not self._ear.poll(END_TIMEOUT_S):
            raise SilenceError("the rank says nothing")
        kind, value = self._ear.recv()
        assert kind == "result", value
        return value

    def show_threads(self) -> None:
        """Print what the rank's threads wait for, if it still runs.

        The kernel tells it of native code, the rank itself of Python code (`faulthandler`).
        """
        pid = self.process.pid
        if pid is None or not self.process.is_alive():
            return
        # Threads may end meanwhile.
        with contextlib.suppress(OSError):
            for thread in sorted(Path(f"/proc/{pid}/task").iterdir()):
                names = ("comm", "wchan", "syscall")
                facts = [(thread / name).read_text().strip() for name in names]
                print(f"rank {pid}, thread {thread.name}: {', '.join(facts)}")
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGUSR1)
            time.sleep(_SHOWING_S)

    def end(self) -> None:
        """Whatever its state."""
        self.process.kill()
        self.process.join()


@contextlib.contextmanager
def running(
    check: Check,
    ranks: int,
    folder: Path,
    *arguments: Any,
    environment: Mapping[str, str] | None = None,
    timeout_s: float = GROUP_TIMEOUT_S,
    namespaces: Sequence[str] = (),
    **options: Any,
) -> Iterator[list[Rank]]:
    """Processes that run `check(say, rank, *arguments)` in a group, and are ended in any case.

    Args:
        check: what each rank runs.
        ranks: processes in the group.
        folder: for the store at which they meet.
        arguments: of the check, of types that pickle.
        environment: variables of the ranks.
        timeout_s: timeout of the group.
        namespaces: network namespace of each rank; none: that of the test.
        options: further arguments of `init_process_group`.
    """
    task = {
        "store": str(folder / "store"),
        "environment": {"PLINK_SOCKET_IFNAME": "lo", **(environment or {})},
        "timeout_s": timeout_s,
        "namespaces": list(namespaces),
        "options": {"world_size": ranks, **options},
    }
    await_server()
    with contextlib.ExitStack() as stack:
        them = []
        for rank in range(ranks):
            ear, mouth = FORKED.Pipe(duplex=False)
            process = FORKED.Process(target=_run, args=(mouth, rank, task, check, arguments))
            process.start()
            mouth.close()
            them.append(Rank(process, ear))
            stack.callback(them[-1].end)
        yield them


def hear_all(ranks: Sequence[Rank]) -> list[Any]:
    """What the check said or returned on each rank; if one says nothing, all show their threads."""
    try:
        return [rank.hear() for rank in ranks]
    except SilenceError:
        for rank in ranks:
            rank.show_threads()
        raise


def results(check: Check, ranks: int, folder: Path, *arguments: Any, **options: Any) -> list[Any]:
    """What `check` returns on each rank."""
    with running(check, ranks, folder, *arguments, **options) as them:
        return hear_all(them)


def _run(
    mouth: Connection, rank: int, task: dict[str, Any], check: Check, arguments: tuple[Any, ...]
) -> None:
    import torch
    import torch.distributed as dist

    import plink.torch  # noqa: F401

    faulthandler.register(signal.SIGUSR1)
    if task["namespaces"]:
        enter_namespace(task["namespaces"][rank])
    os.environ.update(task["environment"])
    torch.set_num_threads(1)
    try:
        dist.init_process_group(
            "plink",
            init_method=f"file://{task['store']}",
            rank=rank,
            timeout=datetime.timedelta(seconds=task["timeout_s"]),
            **task["options"],
        )
        result = check(lambda value: mouth.send(("result", value)), rank, *arguments)
        # Nobody leaves while another one still needs it.
        if dist.is_initialized():
            dist.barrier()
            dist.destroy_process_group()
        mouth.send(("result", result))
    except dist.DistBackendError as error:
        mouth.send(("result", f"DistBackendError: {error}"))
    except BaseException:
        mouth.send(("failure", traceback.format_exc()))

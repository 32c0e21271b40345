"""SIGINT, SIGTERM and SIGHUP at any moment: "interrupted", 130, and nothing half written."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

import plink
from plink.base.interrupts import limit_interrupts_to_waits
from plink.base.replacing import replace
from plink.formats import cluster
from show.racks import racks
from support.seeds import with_seeds

EXIT_INTERRUPTED = 130
PACKAGE = Path(plink.__file__).resolve().parent
STARTS = {
    "command": [
        "-c",
        "import sys; sys.argv[0] = 'plink'; from plink.__main__ import main; sys.exit(main())",
    ],
    "module": ["-m", "plink"],
}
LINES = [
    ["show", "c.json"],
    ["plan", "c.json", "-o", "p.json"],
    ["probe", "hosts.txt", "-o", "probed.json"],
]
# More are `scripts/bench interrupts`.
MOMENTS = 2
# A finder that sends the signal while the module of this name is imported.
SIGNAL_AT_IMPORT = """
    import os, signal, sys
    class Finder:
        def find_spec(self, name, path=None, target=None):
            if name == {name!r}: os.kill(os.getpid(), signal.{signal})
    sys.meta_path.insert(0, Finder())
    from plink.__main__ import main
    sys.argv = ['plink', *{arguments!r}]
    main()
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("interrupted")
    cluster.write_cluster(str(folder / "c.json"), replace(racks(2, 3).cluster, unreachable=()))
    (folder / "hosts.txt").write_text("127.0.0.1:1\n127.0.0.2:1\n")
    return folder


def run_program(program: str, folder: Path) -> subprocess.CompletedProcess[bytes]:
    words = [sys.executable, "-c", textwrap.dedent(program)]
    return subprocess.run(words, cwd=folder, capture_output=True, check=False, timeout=100)


@pytest.mark.parametrize("line", LINES, ids=" ".join)
@with_seeds(1, 20)
def test_no_moment_shows_a_traceback(folder: Path, line: list[str], seed: int) -> None:
    chosen = random.Random(seed)
    for number in range(MOMENTS):
        begin = STARTS["module" if number % 2 else "command"]
        process = subprocess.Popen(
            [sys.executable, *begin, *line],
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        time.sleep(chosen.uniform(0.03, 0.5))
        sent = chosen.choice([signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
        process.send_signal(sent)
        said = process.communicate(timeout=100)[1]
        if str(PACKAGE) not in said and ("Traceback" in said or process.returncode == -sent):
            continue  # Python itself had not begun plink.
        assert "Traceback" not in said, said
        assert "ignored" not in said, said
        if process.returncode != EXIT_INTERRUPTED:
            assert process.returncode in (0, 1), said  # it was faster, or probed nobody
        else:
            assert said.splitlines()[-1] == "interrupted"
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize(
    ("name", "module"),
    [("SIGTERM", "click"), ("SIGHUP", "plink.cli.show"), ("SIGINT", "numpy.linalg")],
)
def test_an_import_is_never_left_by_an_exception(folder: Path, name: str, module: str) -> None:
    program = SIGNAL_AT_IMPORT.format(name=module, signal=name, arguments=["show", "c.json"])
    done = run_program(program, folder)
    assert (done.returncode, done.stderr.split()) == (EXIT_INTERRUPTED, [b"interrupted"])


def test_options_are_parsed_before_there_is_anything_to_keep(folder: Path) -> None:
    program = """
        import os, signal, sys
        import click
        from plink.__main__ import main
        parse_args = click.Command.parse_args
        def interrupted_parse_args(self, ctx, args):
            if self.name == 'command' or ctx.info_name == 'show':
                os.kill(os.getpid(), signal.SIGTERM)
                print('went on')
            return parse_args(self, ctx, args)
        click.Command.parse_args = interrupted_parse_args
        sys.argv = ['plink', 'show', 'c.json']
        main()
    """
    done = run_program(program, folder)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"interrupted\n")


FOREIGN = """
import os, signal
done = []
def work():
    os.kill(os.getpid(), signal.SIGINT)
    for _ in range(1000): done.append(1)
"""
OWN = """
reached = []
def run(foreign):
    foreign.work()
    reached.append(1)
    reached.append(2)
"""


def test_a_wait_that_a_signal_did_not_end_is_left(folder: Path) -> None:
    # As when the signal comes just before the wait: it is handled by another thread.
    program = """
        import os, queue, signal, threading, time
        from plink.base.interrupts import end_when_interrupted, raise_when_interrupted
        end_when_interrupted()
        raise_when_interrupted()
        def interrupt():
            time.sleep(0.2)
            os.kill(os.getpid(), signal.SIGINT)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        threading.Thread(target=interrupt, daemon=True).start()
        try:
            queue.SimpleQueue().get(timeout=100)
        except KeyboardInterrupt:
            print('left')
    """
    assert run_program(program, folder).stdout == b"left\n"


def test_a_daemon_s_wait_ends_by_a_signal_in_any_thread(folder: Path) -> None:
    program = """
        import os, signal, threading, time
        from plink.base.interrupts import limit_interrupts_to_waits
        def interrupt():
            time.sleep(0.2)
            os.kill(os.getpid(), signal.SIGTERM)
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        with limit_interrupts_to_waits() as wait:
            threading.Thread(target=interrupt, daemon=True).start()
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
            print(wait() == signal.SIGTERM)
    """
    assert run_program(program, folder).stdout == b"True\n"


def test_foreign_code_is_left_at_the_next_line_of_plinks(tmp_path: Path) -> None:
    program = f"""
        import types
        from plink.base.interrupts import end_when_interrupted, raise_when_interrupted
        foreign, own = types.ModuleType('foreign'), types.ModuleType('plink.own')
        exec({FOREIGN!r}, foreign.__dict__)
        exec({OWN!r}, own.__dict__)
        end_when_interrupted()
        raise_when_interrupted()
        try:
            own.run(foreign)
        except KeyboardInterrupt:
            print(len(foreign.done), own.reached)
    """
    done = run_program(program, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"1000 []\n", b"")


CLEANING_UP = """
import contextlib, os, signal, time
closed = []
@contextlib.contextmanager
def opened():
    try:
        yield
    finally:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.05)
        closed.append(1)
def run():
    with opened():
        pass
    for _ in range(1000): closed.append(2)
"""


def test_a_context_is_closed_before_an_interrupt_is_raised(tmp_path: Path) -> None:
    program = f"""
        import types
        from plink.base.interrupts import end_when_interrupted, raise_when_interrupted
        own = types.ModuleType('plink.own')
        exec({CLEANING_UP!r}, own.__dict__)
        end_when_interrupted()
        raise_when_interrupted()
        try:
            own.run()
        except KeyboardInterrupt:
            print(own.closed)
    """
    done = run_program(program, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"[1]\n", b"")


def test_foreign_code_that_waits_ends_at_the_second_interrupt(tmp_path: Path) -> None:
    program = """
        import os, signal, threading, time, types
        from plink.base import interrupts
        foreign = types.ModuleType('foreign')
        foreign.has_begun = threading.Event()
        work = 'def work(): has_begun.set(); time.sleep(60)'
        exec('import time\\n' + work, foreign.__dict__)
        interrupts.end_when_interrupted()
        interrupts.raise_when_interrupted()
        interrupts._PATIENCE_S = 0.1
        def interrupt():
            foreign.has_begun.wait()
            for _ in range(20):
                time.sleep(0.1)
                os.kill(os.getpid(), signal.SIGTERM)
        threading.Thread(target=interrupt, daemon=True).start()
        foreign.work()
    """
    done = run_program(program, tmp_path)
    assert (done.returncode, done.stderr.split()) == (EXIT_INTERRUPTED, [b"interrupted"])


def test_an_ignored_interrupt_stays_ignored(folder: Path) -> None:
    shell = "trap '' INT HUP; \"$@\" & sleep 0.3; kill -INT $!; kill -HUP $!; wait $!"
    done = subprocess.run(
        ["sh", "-c", shell, "sh", sys.executable, "-m", "plink", "show", "c.json"],
        cwd=folder,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize(
    "wait", ["time.sleep(60)", "threading.Event().wait()", "queue.Queue().get()"]
)
def test_waits_end(tmp_path: Path, wait: str) -> None:
    program = f"""
        import os, queue, signal, threading, time
        from plink.base.interrupts import end_when_interrupted, raise_when_interrupted
        end_when_interrupted()
        raise_when_interrupted()
        try:
            threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGHUP)).start()
            {wait}
        except KeyboardInterrupt:
            print('heard')
    """
    done = run_program(program, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"heard\n", b"")


@pytest.mark.parametrize("decorator", ["", "@click.pass_context"])
def test_verbs_hear_at_once(tmp_path: Path, decorator: str) -> None:
    program = f"""
        import os, signal, threading, time
        import click
        from plink.base.interrupts import end_when_interrupted, raise_when_interrupted
        end_when_interrupted()
        @click.command()
        {decorator}
        def verb(*_):
            raise_when_interrupted()
            try:
                threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
                time.sleep(60)
            except KeyboardInterrupt:
                print('heard')
        verb([])
    """
    done = run_program(program, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"heard\n", b"")


def test_an_interrupt_in_a_finaliser_is_not_lost(tmp_path: Path) -> None:
    program = """
        import os, signal, time
        from plink.base.interrupts import end_when_interrupted, raise_when_interrupted
        class Thing:
            def __del__(self): os.kill(os.getpid(), signal.SIGINT); time.sleep(0)
        end_when_interrupted()
        raise_when_interrupted()
        try:
            Thing()
            time.sleep(9)
        except KeyboardInterrupt:
            print('heard')
    """
    done = run_program(program, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"heard\n", b"")


def test_a_coroutine_is_cancelled_and_closes_in_peace(tmp_path: Path) -> None:
    program = """
        import asyncio, os, signal
        from plink.base.coroutines import run_until_interrupted
        from plink.base.interrupts import end_when_interrupted
        async def serve():
            try:
                os.kill(os.getpid(), signal.SIGTERM)
                await asyncio.sleep(60)
            finally:
                os.kill(os.getpid(), signal.SIGTERM)
                await asyncio.sleep(0.05)
                print('closed')
        end_when_interrupted()
        try:
            run_until_interrupted(serve())
        except KeyboardInterrupt:
            print('heard')
    """
    done = run_program(program, tmp_path)
    assert (done.stdout, done.stderr) == (b"closed\nheard\n", b"")


def test_an_interrupt_while_a_daemon_starts_waits_for_its_end() -> None:
    with limit_interrupts_to_waits() as wait:
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        assert wait() == signal.SIGINT
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler

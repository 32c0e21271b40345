"""Try the plink that is installed: `python try_wheel.py`. It needs nothing but what plink brings.

For machines without a compiler, a network or the sources of plink.
"""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

import numpy as np

import plink.probes.echo
from plink.engine import DirectoryStore, Engine, Options, Tls, _native
from plink.formats import plan
from plink.transport.certificates import Holder, write_certificates

RANKS = 3
ITEMS = 100_001
LONGEST_S = 60
# The type of the segment that names what loads a program's libraries.
_INTERPRETER = 3
TIMES = "us,a,b,c\na,,20,90\nb,20,,50\nc,90,50,\n"


def main(arguments: list[str]) -> None:
    """Try everything, or be one rank of an all-reduce."""
    if arguments:
        reduce(int(arguments[0]), *arguments[1:])
        return
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        look_at_what_is_installed()
        order_hosts()
        start_agents()
        reduce_along_a_plan()
    print(f"plink works with Python {sys.version.split()[0]} on {os.uname().machine}")


def run_plink(*words: str, text: str = "") -> str:
    """What the installed command prints."""
    command = str(Path(sysconfig.get_path("scripts")) / "plink")
    return run(command, *words, text=text)


def run(*words: str, text: str = "") -> str:
    """What a program prints, which has to succeed."""
    done = subprocess.run(
        words, input=text, capture_output=True, text=True, check=False, timeout=LONGEST_S
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def expect(is_so: bool, what: str) -> None:
    """End where something is not as it should be."""
    if not is_so:
        sys.exit(f"not so: {what}")


def look_at_what_is_installed() -> None:
    """Commands answer, and types and manual pages are there."""
    folder = Path(plink.__file__).parent
    expect(folder.is_relative_to(sys.prefix), f"{folder} is in {sys.prefix}")
    expect((folder / "py.typed").exists(), "types are known")
    expect("Commands:" in run_plink("--help"), "plink --help lists the commands")
    version = run(sys.executable, "-m", "plink", "--version")
    expect(plink.__version__ in version, "python -m plink tells the version")
    expect("_PLINK_COMPLETE" in run_plink("completion", "bash"), "plink completion bash")
    pages = Path(sysconfig.get_path("data")) / "share" / "man" / "man1"
    expect((pages / "plink-probe.1").exists(), "there are manual pages")


def order_hosts() -> None:
    """A matrix becomes an order and a launcher's file."""
    run_plink("import", "-", "-o", "cluster.json", text=TIMES)
    run_plink("order", "cluster.json", "--algo", "ring", "-o", "order.json")
    hosts = run_plink("order", "order.json", "--format", "openmpi", "-o", "-").splitlines()
    named = {line.split()[0] for line in hosts if line[:1] not in ("", "#")}
    expect(named == {"a", "b", "c"}, f"the host file has the hosts: {named}")
    run_plink("plan", "cluster.json", "--kind", "ring", "-o", "plan.json")
    run_plink("report", "cluster.json", "order.json", "-o", "report.html")
    page = Path("report.html").read_text(encoding="utf-8")
    expect(page.startswith("<!DOCTYPE html>"), "the templates of the page are there")


def start_agents() -> None:
    """The program that plink sends to hosts runs without any library."""
    agent = Path(plink.probes.echo.__file__).parent / "bin" / "plink-echo-agent"
    expect(os.access(agent, os.X_OK), "the agent is there and may be run")
    expect(_INTERPRETER not in segments(agent.read_bytes()), "the agent needs no library")
    done = subprocess.run([agent], input="", capture_output=True, text=True, check=False)
    expect(done.returncode >= 0, "the agent runs")


def segments(program: bytes) -> set[int]:
    """The types of a 64-bit program's segments (elf(5))."""
    (start,) = struct.unpack_from("<Q", program, 32)
    size, count = struct.unpack_from("<HH", program, 54)
    return {struct.unpack_from("<I", program, start + number * size)[0] for number in range(count)}


def reduce_along_a_plan() -> None:
    """Processes of the engine sum up, by TCP and then by TLS."""
    expect(_native.HAS_TLS, "the engine has TLS")
    names = ["localhost", "127.0.0.1"]
    write_certificates("tls", {"host": Holder(names)}, 1)
    for more in ([], ["tls/host"]):
        ranks = [
            subprocess.Popen([sys.executable, __file__, str(rank), f"meeting{len(more)}", *more])
            for rank in range(RANKS)
        ]
        codes = [rank.wait(LONGEST_S) for rank in ranks]
        expect(codes == [0] * RANKS, f"all ranks succeed: {codes}")


def reduce(rank: int, meeting: str, tls: str | None = None) -> None:
    """One rank of an all-reduce along the plan."""
    Path(meeting).mkdir(exist_ok=True)
    forest = plan.read_plan("plan.json").forest
    options = Options(
        addresses=("127.0.0.1",),
        shared_memory=False,
        tls=None if tls is None else Tls.of_folder(tls),
    )
    array = np.arange(ITEMS) * (rank + 1.0)
    with Engine(rank, RANKS, DirectoryStore(meeting), forest, options) as engine:
        engine.allreduce(array).wait(LONGEST_S)
        ciphers = {each.cipher for each in engine.statistics().connections}
    expect(("" in ciphers) == (tls is None), f"connections have the ciphers {ciphers}")
    expect(bool((array == np.arange(ITEMS) * 6.0).all()), f"rank {rank} has the sum")
    expect("torch" not in sys.modules, "the engine does without torch")


main(sys.argv[1:])

"""Interrupts at moments drawn from the whole run of each verb.

Each verb is first run undisturbed, to know how long it takes. Then it is started again for every
moment and gets one of SIGINT, SIGTERM and SIGHUP there. A run is wrong where it shows a traceback
of plink's, ends with another exit code than 130 or the undisturbed run's, or leaves a half-written
or hidden file.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import plink
from benchkit.arguments import add_seed
from benchkit.report import Report

EXAMPLE = "--moments 200 --verbs show,plan"
QUICK = "--moments 3 --verbs show,plan"

HEADER = ("verb", "moments", "undisturbed, s", "interrupted", "ended first", "in Python", "wrong")
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# Exit codes: the line is refused; a part of the result was kept; interrupted.
WRONG_USE = 2
PARTIAL = 3
INTERRUPTED = 130
# Seconds after which a run counts as one that no interrupt ends.
LIMIT_S = 60.0
LINES = {
    "show": ["show", "c.json"],
    "group": ["group", "c.json"],
    "order": ["order", "c.json", "--algo", "ring", "--time-limit", "1", "-o", "out.json"],
    "plan": ["plan", "c.json", "-o", "out.json"],
    "predict": ["predict", "c.json", "--size", "1MB"],
    "simulate": ["simulate", "c.json", "--algo", "ring"],
    "report": ["report", "c.json", "-o", "out.html"],
    "doctor": ["doctor", "c.json"],
    "export": ["export", "c.json", "-o", "out.csv"],
    "import": ["import", "m.csv", "-o", "out.json"],
    "probe": ["probe", "hosts.txt", "-o", "out.json"],
    "agent": ["agent", "--join", "127.0.0.1:9", "--secret-file", "secret", "--wait", "1"],
    "hub-serve": ["hub", "serve", "--listen", "127.0.0.1:0", "--secret-file", "secret"],
    "autotune-serve": [
        "autotune",
        "serve",
        "plan.json",
        "--cluster",
        "c.json",
        "--listen",
        "127.0.0.1:0",
    ],
    "help": ["--help"],
}
# What c.json is made from: verbs that simulate need the rates of links.
NETWORK = """
latency_us = [5, 25]
host_gbit_s = 10
uplink_gbit_s = 20
[[groups]]
name = "a"
hosts = "h[0-3]"
[[groups]]
name = "b"
hosts = "h[4-7]"
"""
DAEMONS = {"hub-serve", "autotune-serve"}
# Nobody answers these two, and they fail in the end.
UNANSWERED = {"agent", "probe"}


@dataclass(frozen=True)
class Outcome:
    """Outcome of an interrupted run: `kind` is a heading of the table, `text` its stderr."""

    kind: str
    text: str = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    add_seed(parser)
    parser.add_argument("--moments", type=int, default=200, help="drawn for each verb")
    parser.add_argument("--verbs", default=",".join(LINES), help="names from the table")


def run(arguments: argparse.Namespace, report: Report) -> None:
    """Draw the moments and print the table."""
    report.say(f"Seed {arguments.seed}.")
    verbs = arguments.verbs.split(",")
    rows, wrong_runs = [], []
    with tempfile.TemporaryDirectory() as folder:
        write_inputs(Path(folder))
        undisturbed = {verb: run_undisturbed(verb, folder) for verb in verbs}
        for verb, (lasted_s, code) in undisturbed.items():
            rng = random.Random(f"{arguments.seed} {verb}")
            counts: Counter[str] = Counter()
            for _ in range(arguments.moments):
                moment_s, number = rng.uniform(0.0, 1.1 * lasted_s), rng.choice(SIGNALS)
                outcome = interrupt(verb, Path(folder), moment_s, number, code)
                counts[outcome.kind] += 1
                if outcome.kind == "wrong":
                    what = f"{verb}, {number.name} after {moment_s:.3f} s"
                    wrong_runs.append(f"{what}:\n{outcome.text}")
            kinds = [counts[kind] for kind in HEADER[3:]]
            rows.append((verb, arguments.moments, f"{lasted_s:.2f}", *kinds))
    report.table(HEADER, rows)
    for text in wrong_runs[:10]:
        report.say(f"```\n{text}\n```")
    report.at_most("interrupts with a wrong end", 0, len(wrong_runs))


def write_inputs(folder: Path) -> None:
    """Write the files that the command lines name."""
    (folder / "net.toml").write_text(NETWORK)
    names = [f"h{i}" for i in range(8)]
    lines = [f"us,{','.join(names)}"]
    for i, name in enumerate(names):
        cells = ["0" if i == j else "10" if i // 4 == j // 4 else "50" for j in range(8)]
        lines.append(f"{name},{','.join(cells)}")
    (folder / "m.csv").write_text("\n".join(lines) + "\n")
    (folder / "hosts.txt").write_text("127.0.0.1:1\n127.0.0.2:1\n")
    secret = folder / "secret"
    secret.write_text("0123456789abcdef" * 4 + "\n")
    secret.chmod(0o600)
    for line in (["import", "net.toml", "-o", "c.json"], ["plan", "c.json", "-o", "plan.json"]):
        subprocess.run(_words(line), cwd=folder, check=True, capture_output=True)


def run_undisturbed(verb: str, folder: str) -> tuple[float, int]:
    """Return a run's seconds and exit code; a daemon's start takes two seconds here.

    Raises:
        SystemExit: the verb refuses its line, of which interrupts would show nothing.
    """
    if verb in DAEMONS:
        return 2.0, 0
    start_s = time.monotonic()
    done = subprocess.run(
        _words(LINES[verb]), cwd=folder, capture_output=True, check=False, timeout=LIMIT_S
    )
    if done.returncode == WRONG_USE and verb not in UNANSWERED:
        raise SystemExit(f"error: plink {' '.join(LINES[verb])}: {done.stderr.decode()}")
    return time.monotonic() - start_s, done.returncode


def interrupt(
    verb: str, folder: Path, moment_s: float, number: signal.Signals, code: int
) -> Outcome:
    """Start the verb, send the signal at its moment, and judge how it ends."""
    for path in folder.glob("out.*"):
        path.unlink()
    given = set(folder.iterdir())
    with subprocess.Popen(
        _words(LINES[verb]),
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        time.sleep(moment_s)
        process.send_signal(number)
        try:
            said = process.communicate(timeout=LIMIT_S)[1]
        except subprocess.TimeoutExpired:
            process.kill()
            return Outcome("wrong", f"still running after {LIMIT_S:g} s")
    if _is_in_python(said, process.returncode, number):
        return Outcome("in Python")
    left = set(folder.iterdir()) - given
    half_written = [path.name for path in left if not _is_whole(path)]
    if "Traceback" in said or "ignored" in said or half_written:
        return Outcome("wrong", f"{said}{' '.join(half_written)}")
    if process.returncode == INTERRUPTED:
        is_said = said.rstrip().endswith("interrupted") or verb in DAEMONS
        return Outcome("interrupted" if is_said else "wrong", said)
    if process.returncode in (code, PARTIAL):
        return Outcome("ended first")
    return Outcome("wrong", f"exit code {process.returncode}: {said}")


def _is_in_python(said: str, code: int, number: signal.Signals) -> bool:
    """Tell whether the signal came before or after what plink has to say about it.

    Python imports `plink/__init__.py` before the module that installs plink's handlers.
    """
    package = str(Path(plink.__file__).resolve().parent)
    is_plinks = package in said.replace(f"{package}/__init__.py", "")
    return not is_plinks and ("KeyboardInterrupt" in said or code == -number)


def _is_whole(path: Path) -> bool:
    """Tell whether a file that a run left is one of its outputs, to its end."""
    if path.suffix == ".json":
        try:
            json.loads(path.read_text())
        except ValueError:
            return False
        return True
    return not path.name.startswith(".") and path.stat().st_size > 0


def _words(line: list[str]) -> list[str]:
    return [sys.executable, "-m", "plink", *line]

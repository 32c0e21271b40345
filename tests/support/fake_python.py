"""Interpreters that go wrong on some hosts of a lab, for `--remote-python`."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

REAL = shlex.quote(sys.executable)

# What stands for the interpreter on a host: a line of shell, "$@" are its arguments.
WITHOUT_SCAPY = f'exec {REAL} -I -S "$@"'
WITHOUT_PRIVILEGE = f'exec setpriv --bounding-set=-net_raw {REAL} "$@"'
CRASHES = "echo 'Fatal Python error: out of tape' >&2; exit 1"
# Passes on so many lines of a program, and kills it.
_CUT = (
    "import subprocess, sys; "
    "program = subprocess.Popen(sys.argv[2:], stdout=subprocess.PIPE); "
    "[print(program.stdout.readline().decode(), end='', flush=True)"
    " for _ in range(int(sys.argv[1]))]; "
    "program.kill()"
)
DIES_AFTER_READY = f'exec {REAL} -c {shlex.quote(_CUT)} 1 {REAL} "$@"'
DIES_AFTER_ONE_TRACE = f'exec {REAL} -c {shlex.quote(_CUT)} 2 {REAL} "$@"'
# Says everything later than it knows it, so that there is time to disturb it.
SLOW = f'{REAL} "$@" | while IFS= read -r line; do sleep 0.3; printf "%s\\n" "$line"; done'
# Finds every host one hop away, and starts at once.
QUICK = (
    'read length; head -c "$length" >/dev/null; read _; echo ready; '
    'while read _ address _; do echo "traced $address u1=$address/3.3"; done'
)
BABBLES = "echo ready; read _; echo 'traced 10.0.0.1 u1=evil/11.0'; exec cat >/dev/null"
LIES = "echo ready; read _; echo 'traced 10.0.0.1 u1=10.0.0.1/3.3'; exec cat >/dev/null"


def fake_python(path: Path, faults: Mapping[str, str]) -> Path:
    """An executable that is this Python but on the named hosts, where it is a line of shell."""
    cases = "".join(f"{host}) {line} ;;\n" for host, line in faults.items())
    path.write_text(f'#!/bin/sh\ncase $(hostname) in\n{cases}*) exec {REAL} "$@" ;;\nesac\n')
    path.chmod(0o755)
    return path

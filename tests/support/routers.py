"""Disturbing the routers and hosts of a standing lab, for a while."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator

from labkit.wiring import namespace
from support.lab import Lab

LISTENER = """
import socket, sys
listener = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
listener.bind(("", 33434))
print("listening", flush=True)
sys.stdin.read()
"""


def inside(lab: Lab, element: str, *argv: str) -> None:
    """Run a command in the network of a router or host."""
    subprocess.run(["ip", "netns", "exec", namespace(lab.name, element), *argv], check=True)


@contextlib.contextmanager
def setting(lab: Lab, element: str, name: str, value: str) -> Iterator[None]:
    """Give a network setting another value."""
    path = f"/proc/sys/net/ipv4/{name}"
    command = ["ip", "netns", "exec", namespace(lab.name, element), "cat", path]
    before = subprocess.check_output(command, text=True).strip()
    inside(lab, element, "sh", "-c", f"echo {value} > {path}")
    try:
        yield
    finally:
        inside(lab, element, "sh", "-c", f"echo {before} > {path}")


@contextlib.contextmanager
def route(lab: Lab, element: str, *words: str) -> Iterator[None]:
    """Add a route, such as `blackhole 10.0.0.1/32`."""
    inside(lab, element, "ip", "route", "add", *words)
    try:
        yield
    finally:
        inside(lab, element, "ip", "route", "del", *words)


@contextlib.contextmanager
def silent_router(lab: Lab, element: str) -> Iterator[None]:
    """A router that says nothing about packets whose time is up (ICMP type 11)."""
    with (
        setting(lab, element, "icmp_ratelimit", "1000000000"),
        setting(lab, element, "icmp_ratemask", str(1 << 11)),
    ):
        yield


@contextlib.contextmanager
def listener(lab: Lab, host: str) -> Iterator[None]:
    """Something that takes what comes to the port of the probes, and never answers."""
    argv = lab.command(host, [sys.executable, "-S", "-c", LISTENER])
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, stdin=pipe, stdout=pipe, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "listening\n"
            yield
        finally:
            process.communicate(timeout=100)


@contextlib.contextmanager
def mute(lab: Lab, host: str) -> Iterator[None]:
    """A host that answers neither kind of probe."""
    with listener(lab, host), setting(lab, host, "icmp_echo_ignore_all", "1"):
        yield

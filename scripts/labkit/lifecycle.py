"""Putting a lab up and taking it down."""

from __future__ import annotations

import contextlib
import getpass
import secrets
import shutil
import socket
from ipaddress import IPv4Network
from pathlib import Path

from labkit import building, sshd, subnets, texts, wiring
from labkit.entry import ETC_HOSTS, PRIVATE_FOLDER
from labkit.errors import LabError
from labkit.registry import COPY_NAME, Registry
from labkit.shape import Shape
from labkit.state import State
from labkit.system import require_programs
from labkit.topology import place

FILES = ("hosts.txt", "ssh_config", "known_hosts", "id_ed25519", "id_ed25519.pub", "truth.json")


def up(
    registry: Registry,
    lab: str,
    directory: Path,
    shape: Shape,
    *,
    seed: int,
    congestion_control: str | None = None,
) -> State:
    """Put a lab up. What fails half-way, or is interrupted, is taken down again.

    Raises:
        LabError: a lab of this name stands, a program is missing, or the kernel refuses.
    """
    require_programs()
    state = _claim(registry, lab, directory, shape, seed)
    try:
        building.build(state.topology, congestion_control)
        _write_files(state)
        sshd.start_all(state, state.directory / PRIVATE_FOLDER)
    except BaseException:
        down(registry, state)
        raise
    return state


def down(registry: Registry, state: State) -> None:
    """Take a lab down, whatever there is of it; nothing else is touched."""
    building.demolish(state)
    for name in (*FILES, COPY_NAME):
        (state.directory / name).unlink(missing_ok=True)
    shutil.rmtree(state.directory / PRIVATE_FOLDER, ignore_errors=True)
    if state.made_directory:
        # Somebody else's file in it keeps it.
        with contextlib.suppress(OSError):
            state.directory.rmdir()
    registry.forget(state.name)


def _claim(registry: Registry, lab: str, directory: Path, shape: Shape, seed: int) -> State:
    """Choose the subnet and write down what will be made, before any of it is."""
    with registry.locked():
        if registry.read(lab) is not None:
            raise LabError(f"lab {lab} is up already", f"lab down --name {lab}")
        for name in (*FILES, COPY_NAME, PRIVATE_FOLDER):
            if (directory / name).exists():
                raise LabError(f"{directory / name} exists and is no lab's", "choose a --dir")
        taken = building.taken_networks() + [
            IPv4Network(other.topology.subnet) for other in registry.all()
        ]
        topology = place(lab, shape, seed, subnets.choose(lab, shape.host_count, taken))
        building.refuse_strangers(lab, wiring.elements(topology))
        made_directory = not directory.exists()
        directory.mkdir(parents=True, exist_ok=True)
        state = State(secrets.token_hex(8), directory, made_directory, topology)
        registry.write(state)
    return state


def _write_files(state: State) -> None:
    topology, directory = state.topology, state.directory
    private = directory / PRIVATE_FOLDER
    private.mkdir(mode=0o755)
    public_keys = sshd.make_keys(state, private)
    written = {
        "hosts.txt": texts.hosts_txt(topology),
        "ssh_config": texts.ssh_config(topology, directory, getpass.getuser()),
        "known_hosts": texts.known_hosts(topology, public_keys),
        "truth.json": texts.truth_json(topology),
        f"{PRIVATE_FOLDER}/{ETC_HOSTS}": texts.etc_hosts(topology, socket.gethostname()),
    }
    for name, text in written.items():
        (directory / name).write_text(text)

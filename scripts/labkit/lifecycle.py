"""Putting a lab up and taking it down."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from labkit import building, sshd, subnets, texts
from labkit.addressing import addresses_needed
from labkit.entry import ETC_HOSTS, ETC_SHADOW, PRIVATE_FOLDER, SHELL_START
from labkit.errors import LabError
from labkit.interruptions import held_back
from labkit.login import Login
from labkit.registry import COPY_NAME, UNFINISHED_COPY_NAME, Registry
from labkit.shape import Shape
from labkit.state import State
from labkit.system import require_programs
from labkit.topology import place

FILES = ("hosts.txt", "ssh_config", "known_hosts", "id_ed25519", "id_ed25519.pub", texts.TRUTH_FILE)


@dataclass(frozen=True)
class LabRequest:
    """The lab to create: its name, its folder, and its shape.

    `congestion_control` is that of TCP on the hosts, None to leave it as it is on the machine.
    `environment` is added to that of every SSH session.
    """

    lab: str
    directory: Path
    shape: Shape
    seed: int
    login: Login
    congestion_control: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)


def up(registry: Registry, request: LabRequest) -> State:
    """Create a lab. If that fails or is interrupted, take down what was created.

    Raises:
        LabError: a lab of this name stands, a program is missing, or the kernel refuses.
    """
    require_programs()
    building.require_permission()
    state = None
    try:
        with held_back():
            state = _claim(registry, request)
        state.directory.mkdir(parents=True, exist_ok=True)
        registry.write(state)
        building.build(state.topology, request.login, request.congestion_control)
        _write_files(state)
        sshd.start_all(state, state.directory / PRIVATE_FOLDER, request.environment)
    except BaseException:
        # A second Ctrl-C must not leave half a lab.
        with held_back():
            if state is not None:
                down(registry, state)
        raise
    return state


def down(registry: Registry, state: State) -> None:
    """Take a lab down, whatever there is of it; nothing else is touched."""
    building.demolish(state.name)
    remove_files(state)
    registry.forget(state.name)


def down_unknown(registry: Registry, lab: str) -> None:
    """Take a lab down whose state cannot be read. Its files remain."""
    building.demolish(lab)
    registry.forget(lab)


def remove_files(state: State) -> None:
    """Remove the lab's files, and its folder if it is the lab's own and holds nothing else."""
    for name in (*FILES, COPY_NAME, UNFINISHED_COPY_NAME):
        (state.directory / name).unlink(missing_ok=True)
    shutil.rmtree(state.directory / PRIVATE_FOLDER, ignore_errors=True)
    if state.made_directory:
        # Somebody else's file in it keeps it.
        with contextlib.suppress(OSError):
            state.directory.rmdir()


def down_if_same(registry: Registry, state: State) -> None:
    """Take a lab down unless that was done already, even if another of the same name is up now."""
    present = registry.read(state.name)
    if present is not None and present.identity == state.identity:
        down(registry, present)


def _claim(registry: Registry, request: LabRequest) -> State:
    """Choose the subnet and write down what will be made, before any of it is."""
    lab, directory, shape = request.lab, request.directory, request.shape
    with registry.locked():
        if lab in registry.names():
            raise LabError(f"lab {lab} is up already", f"lab down --name {lab}")
        for name in (*FILES, COPY_NAME, PRIVATE_FOLDER):
            if (directory / name).exists():
                raise LabError(
                    f"{directory / name} exists and does not belong to a lab",
                    "choose another --dir",
                )
        building.refuse_strangers(lab)
        taken = building.taken_networks() + registry.subnets()
        subnet = subnets.choose(lab, addresses_needed(shape), taken)
        topology = place(lab, shape, request.seed, subnet)
        made_directory = not directory.exists()
        state = State(secrets.token_hex(8), directory, made_directory, request.login, topology)
        registry.write(state)
    return state


def _write_files(state: State) -> None:
    topology, directory = state.topology, state.directory
    private = directory / PRIVATE_FOLDER
    private.mkdir(mode=0o755)
    public_keys = sshd.make_keys(state, private)
    written = {
        "hosts.txt": texts.hosts_txt(topology),
        "ssh_config": texts.ssh_config(topology, directory, state.login.name),
        "known_hosts": texts.known_hosts(topology, public_keys),
        texts.TRUTH_FILE: texts.truth_json(topology),
        f"{PRIVATE_FOLDER}/{SHELL_START}": "",
        f"{PRIVATE_FOLDER}/{ETC_HOSTS}": texts.etc_hosts(topology, socket.gethostname()),
    }
    for name, text in written.items():
        (directory / name).write_text(text)
    shadow = sshd.shadow_of_locked(state)
    if shadow is not None:
        path = private / ETC_SHADOW
        path.touch(mode=0o600)
        path.write_text(shadow)
    _hand_to_caller(state)


def _hand_to_caller(state: State) -> None:
    """Under sudo, give the files to the calling user, whose ordinary shell will use them."""
    uid, gid = os.environ.get("SUDO_UID", ""), os.environ.get("SUDO_GID", "")
    if os.geteuid() != 0 or not (uid.isdigit() and gid.isdigit()):
        return
    own = [state.directory] if state.made_directory else []
    for path in (*own, *(state.directory / name for name in FILES)):
        os.chown(path, int(uid), int(gid))

"""The labs that are up: one folder each, so that a lab is found by its name from anywhere."""

from __future__ import annotations

import contextlib
import fcntl
import shutil
from collections.abc import Iterator
from ipaddress import IPv4Network
from pathlib import Path

from labkit import state as states
from labkit.errors import LabError, UnreadableStateError
from labkit.state import State

ROOT_REGISTRY = Path("/run/plink-lab")
STATE_FILE = "state.json"
# A copy beside the lab's other files, for a machine whose /run was emptied under a standing lab.
COPY_NAME = "lab.json"
# A file that is being written; who is killed meanwhile leaves it.
_UNFINISHED = ".{}.new"
UNFINISHED_COPY_NAME = _UNFINISHED.format(COPY_NAME)


class Registry:
    """The labs of one user."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def folder(self, lab: str) -> Path:
        """Where a lab of this name keeps its state."""
        return self.root / lab

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold off other labs, so that two that go up at once do not take the same subnet."""
        self.root.mkdir(mode=0o755, parents=True, exist_ok=True)
        with (self.root / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def names(self) -> list[str]:
        """Every lab that is up, or is left from a crash."""
        return sorted(path.parent.name for path in self.root.glob(f"*/{STATE_FILE}"))

    def holds(self, lab: str) -> bool:
        """Whether there is a lab of this name, complete or not."""
        return self.folder(lab).exists()

    def subnets(self) -> list[IPv4Network]:
        """The subnets of all labs whose state can be read."""
        found = []
        for name in self.names():
            with contextlib.suppress(UnreadableStateError):
                if (state := self.read(name)) is not None:
                    found.append(IPv4Network(state.topology.subnet))
        return found

    def read(self, lab: str) -> State | None:
        """The state of a lab, None if there is no lab of this name.

        Raises:
            UnreadableStateError: the file is not a state.
        """
        return _read(self.folder(lab) / STATE_FILE)

    def find(self, lab: str) -> State:
        """The state of a lab.

        Raises:
            LabError: there is none of this name.
            UnreadableStateError: the file is not a state.
        """
        state = self.read(lab)
        if state is None:
            raise LabError(f"there is no lab {lab}", "see lab status")
        return state

    def find_by_directory(self, directory: Path) -> State:
        """The state of the lab whose files are in a folder.

        Raises:
            LabError: there is none, or the folder is left from a lab that stands no more.
            UnreadableStateError: the file in it is not a state.
        """
        copy = _read(directory / COPY_NAME)
        if copy is None or copy.directory != directory:
            raise LabError(f"{directory} does not hold a lab", "see lab status")
        present = self.read(copy.name)
        if present is None:
            return copy
        if present.identity != copy.identity:
            raise LabError(
                f"{directory} is left from an earlier lab {copy.name}; the current one is in"
                f" {present.directory}",
                "remove the folder",
            )
        return present

    def write(self, state: State) -> None:
        """Keep a state, here and in the lab's own folder if that still exists."""
        text = states.to_json(state)
        folder = self.folder(state.name)
        folder.mkdir(parents=True, exist_ok=True)
        _replace(folder / STATE_FILE, text)
        if state.directory.is_dir():
            _replace(state.directory / COPY_NAME, text)

    def forget(self, lab: str) -> None:
        """Remove what is kept about a lab."""
        shutil.rmtree(self.folder(lab), ignore_errors=True)


def _replace(path: Path, text: str) -> None:
    beside = path.with_name(_UNFINISHED.format(path.name))
    beside.write_text(text)
    beside.replace(path)


def _read(path: Path) -> State | None:
    try:
        text = path.read_text()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise UnreadableStateError(f"cannot read {path}: {error}") from error
    return states.from_json(text, str(path))

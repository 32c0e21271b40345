"""Which labs stand: a folder a lab, so that a lab is found by its name from anywhere."""

from __future__ import annotations

import contextlib
import fcntl
import shutil
from collections.abc import Iterator
from pathlib import Path

from labkit import state as states
from labkit.errors import LabError
from labkit.state import State

ROOT_REGISTRY = Path("/run/plink-lab")
STATE_FILE = "state.json"
# A copy beside the lab's other files, for a machine whose /run was emptied under a standing lab.
COPY_NAME = "lab.json"


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
        """Every lab that stands, or is left from a crash."""
        return sorted(path.parent.name for path in self.root.glob(f"*/{STATE_FILE}"))

    def all(self) -> list[State]:
        """The states of all of them."""
        return [state for name in self.names() if (state := self.read(name)) is not None]

    def read(self, lab: str) -> State | None:
        """The state of a lab, None where there is none of this name.

        Raises:
            LabError: the file is not a state.
        """
        path = self.folder(lab) / STATE_FILE
        return _read(path)

    def write(self, state: State) -> None:
        """Keep a state, here and in the lab's own folder."""
        text = states.to_json(state)
        folder = self.folder(state.name)
        folder.mkdir(parents=True, exist_ok=True)
        for path in (folder / STATE_FILE, state.directory / COPY_NAME):
            beside = path.with_name(f".{path.name}.new")
            beside.write_text(text)
            beside.replace(path)

    def forget(self, lab: str) -> None:
        """Remove what is kept about a lab."""
        shutil.rmtree(self.folder(lab), ignore_errors=True)


def read_copy(directory: Path) -> State:
    """The state of the lab whose files are in a folder.

    Raises:
        LabError: there is none, or it is not a state.
    """
    path = directory / COPY_NAME
    state = _read(path)
    if state is None:
        raise LabError(f"{directory} holds no lab", "lab status lists those that stand")
    return state


def _read(path: Path) -> State | None:
    try:
        text = path.read_text()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise LabError(f"cannot read {path}: {error}") from error
    return states.from_json(text, str(path))

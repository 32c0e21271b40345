"""The directory in which ranks meet holds the job's secret: it is its user's alone."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from plink.base.errors import WrongUseError
from plink.engine import DirectoryStore


@pytest.fixture(params=[0o000, 0o022, 0o277], ids=oct)
def umask(request: pytest.FixtureRequest) -> object:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.usefixtures("umask")
def test_a_new_directory_and_its_files_are_the_users_alone(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path / "job")
    store.set("plink/0/table", b"secret")
    assert store.get("plink/0/table", 1.0) == b"secret"
    assert mode(tmp_path / "job") == 0o700
    assert {file.name: mode(file) for file in (tmp_path / "job").iterdir()} == {
        "plink.0.table": 0o600
    }


@pytest.mark.parametrize("others", [0o720, 0o702, 0o777, 0o1777])
def test_a_directory_that_others_may_write_to_is_refused(tmp_path: Path, others: int) -> None:
    folder = tmp_path / "job"
    folder.mkdir()
    folder.chmod(others)
    with pytest.raises(WrongUseError, match=r"others may write to .*/job") as caught:
        DirectoryStore(folder)
    assert caught.value.hint is not None
    assert list(folder.iterdir()) == []


def test_a_directory_that_others_may_list_holds_files_that_they_cannot_read(tmp_path: Path) -> None:
    folder = tmp_path / "job"
    folder.mkdir()
    folder.chmod(0o755)
    DirectoryStore(folder).set("a", b"secret")
    assert mode(folder / "a") == 0o600


def test_a_directory_that_is_opened_to_others_is_used_no_longer(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path / "job")
    store.set("a", b"secret")
    (tmp_path / "job").chmod(0o777)
    with pytest.raises(WrongUseError, match="others may write"):
        store.get("a", 1.0)
    with pytest.raises(WrongUseError, match="others may write"):
        store.set("b", b"secret")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
def test_a_directory_of_another_user_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "job"
    folder.mkdir(mode=0o700)
    os.chown(folder, 12345, 12345)
    with pytest.raises(WrongUseError, match="belongs to another user"):
        DirectoryStore(folder)


def test_a_value_that_does_not_fit_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = DirectoryStore(tmp_path / "job")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "rename", full)
    with pytest.raises(OSError, match="No space left"):
        store.set("a", b"x")
    assert list((tmp_path / "job").iterdir()) == []


def test_a_key_that_nobody_sets_is_waited_for(tmp_path: Path) -> None:
    with pytest.raises(TimeoutError, match=r"nobody wrote .*/job/plink\.0\.table"):
        DirectoryStore(tmp_path / "job").get("plink/0/table", 0.01)

"""`--rdzv-conf`: what it may say, and one clear sentence for all else."""

from __future__ import annotations

from pathlib import Path

import pytest

from plink.base.errors import WrongUseError
from plink.torchrun.settings import read_settings
from torchrun.networks import RACKS, order_of, racks


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    order_of(RACKS).save(tmp_path / "order.json")
    racks().save(tmp_path / "cluster.json")
    (tmp_path / "text.json").write_text("not JSON")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def settings(text: str, **environment: str) -> object:
    pairs = (pair.partition("=") for pair in text.split(",") if pair)
    return read_settings({name: value for name, _, value in pairs}, environment)


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        (
            "",
            "--rdzv-conf has neither order=FILE, order=probe nor cluster=FILE",
            "order=order.json uses",
        ),
        ("oder=order.json", "--rdzv-conf has an unknown option 'oder'", "did you mean 'order'?"),
        ("order=order.json,xyz=1", "--rdzv-conf has an unknown option 'xyz'", "plink's are order"),
        ("order=nowhere.json", "nowhere.json: ", None),
        ("order=cluster.json", "cluster.json: expected a plink.order file", None),
        ("order=text.json", "text.json: is not JSON", None),
        ("order=order.json,keep=new.json", "keep=FILE needs order=probe", "leave it out"),
        ("order=probe,cluster=cluster.json", "order=probe and cluster=FILE exclude", "keep=FILE"),
        (
            "order=order.json,algorithm=ring",
            "algorithm=ring and order=FILE exclude",
            "leave algorithm out",
        ),
        ("order=probe,algorithm=rign", "no algorithm is called 'rign'", "did you mean 'ring'?"),
        ("order=order.json,host=-x", "host='-x' begins with a dash", "the name that"),
        ("order=probe,keep=cluster.json", "cluster.json: was measured with import", "another file"),
    ],
)
def test_what_cannot_be_is_one_sentence(
    folder: Path, text: str, message: str, hint: str | None
) -> None:
    with pytest.raises(WrongUseError) as raised:
        settings(text)
    said = str(raised.value)
    assert said.startswith(message)
    assert "\n" not in said
    assert not said.endswith(".")
    assert hint is None or hint in str(raised.value.hint)


def test_what_is_read(folder: Path) -> None:
    found = read_settings(
        {"order": "order.json", "cluster": "cluster.json", "join_timeout": "30"},
        {"PLINK_HOST": "b1"},
    )
    assert found.basis.order is not None
    assert found.basis.order.names == RACKS
    assert found.basis.cluster is not None
    assert found.basis.cluster.names == RACKS
    assert found.host == "b1"
    assert not found.is_probed
    named = read_settings(
        {"order": "probe", "host": "a0", "keep": "new.json"}, {"PLINK_HOST": "b1"}
    )
    assert named.host == "a0"
    assert named.is_probed
    assert named.basis.cluster is None
    same = read_settings({"order": "order.json", "cluster": "cluster.json"}, {})
    assert same.digest == found.digest != named.digest

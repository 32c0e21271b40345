"""Files that are no host list, but what a kind of host list reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from plink.base.errors import WrongUseError
from plink.measure.listed import read_hosts
from plink.probes.errors import HostListError


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ("[gpu]\nn1\nn2\n", "ansible"),
        ("n1 ansible_host=10.0.0.1\nn2\n", "ansible"),
        ("all:\n  hosts:\n    n1:\n", "ansible"),
        ('{\n  "hosts": {\n    "sensitive": false,\n    "value": ["n1", "n2"]}}', "terraform"),
        ('{"instances": [{"nodeType": "ComputeNode"}]}', "pcluster"),
    ],
)
def test_the_hint_names_the_kind(content: str, kind: str, tmp_path: Path) -> None:
    file = tmp_path / "list"
    file.write_text(content)
    with pytest.raises(HostListError) as caught:
        read_hosts(str(file))
    assert caught.value.hint == f"it looks like an inventory; try {kind}:{file}"


def test_a_kind_that_there_is_not_names_those_that_there_are() -> None:
    with pytest.raises(WrongUseError, match="kube is not a kind of inventory") as caught:
        read_hosts("kube:training/app=gpt")
    hint = str(caught.value.hint)
    assert hint.startswith(
        "kinds of host lists: slurm:JOB (the nodes of a Slurm job), k8s:NAMESPACE/SELECTOR"
    )


def test_what_looks_like_none_keeps_its_hint(tmp_path: Path) -> None:
    file = tmp_path / "list"
    file.write_text("n1 n2 n3\n")
    with pytest.raises(HostListError) as caught:
        read_hosts(str(file))
    assert "it looks like" not in str(caught.value.hint)

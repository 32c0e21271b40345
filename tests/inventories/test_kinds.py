"""Kinds of host lists, named `KIND:WHERE`."""

from __future__ import annotations

import pytest

from plink.base.errors import WrongUseError
from plink.measure.listed import read_hosts
from plink.probes.errors import HostListError
from plink.probes.inventories import ansible
from plink.probes.inventories.kinds import parse_hosts


def test_a_kind_that_there_is_not_names_those_that_there_are() -> None:
    with pytest.raises(WrongUseError, match="kube is not a kind of inventory") as caught:
        read_hosts("kube:training/app=gpt")
    hint = str(caught.value.hint)
    assert hint.startswith(
        "kinds of host lists: slurm:JOB (the nodes of a Slurm job), k8s:NAMESPACE/SELECTOR"
    )


@pytest.mark.parametrize(
    ("content", "is_inventory"),
    [
        (b"[web]\na\nb\n", True),
        (b"a ansible_host=10.0.0.1\nb ansible_host=10.0.0.2\n", True),
        (b"all:\n  hosts:\n    a:\n    b:\n", True),
        (b"a\nb:::c\n", False),
        (b"a[1-\nb\n", False),
        (b"[fe80::1]\na:::\n", False),
        (b"a:::\nb # as ansible_host=b has it\n", False),
    ],
)
def test_an_inventory_given_as_a_list_is_told_its_kind(content: bytes, is_inventory: bool) -> None:
    with pytest.raises(HostListError) as caught:
        parse_hosts(content, "list")
    assert (ansible.FORM in str(caught.value.hint)) == is_inventory

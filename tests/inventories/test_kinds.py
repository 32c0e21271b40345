"""Kinds of host lists, named `KIND:WHERE`."""

from __future__ import annotations

import pytest

from plink.base.errors import WrongUseError
from plink.measure.listed import read_hosts


def test_a_kind_that_there_is_not_names_those_that_there_are() -> None:
    with pytest.raises(WrongUseError, match="kube is not a kind of inventory") as caught:
        read_hosts("kube:training/app=gpt")
    hint = str(caught.value.hint)
    assert hint.startswith(
        "kinds of host lists: slurm:JOB (the nodes of a Slurm job), k8s:NAMESPACE/SELECTOR"
    )

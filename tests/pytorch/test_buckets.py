"""The buckets of scripts/bench training are DistributedDataParallel's."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchkit.gradients import FORWARD_SHARE, buckets
from benchkit.networks import NETWORKS
from pytorch import training_checks as checks
from pytorch.processes import results


def test_the_real_thing_sends_the_same_buckets(tmp_path: Path) -> None:
    expected = [one.items for one in buckets(list(NETWORKS["resnet50"]()))]
    assert results(checks.bucket_items, 1, tmp_path, "resnet50") == [expected]


@pytest.mark.parametrize("network", ["alexnet", "vgg16", "resnet50", "bert-base"])
def test_buckets_have_every_tensor_once_in_reverse(network: str) -> None:
    parameters = list(NETWORKS[network]())
    found = buckets(parameters)
    assert [index for bucket in found for index in bucket.tensors] == list(
        reversed(range(len(parameters)))
    )
    ready = [bucket.ready for bucket in found]
    assert ready[0] > FORWARD_SHARE
    assert ready == sorted(ready)
    assert ready[-1] == pytest.approx(1.0)


@pytest.mark.parametrize("network", ["alexnet", "vgg16", "resnet50", "bert-base"])
def test_scaled_buckets_have_the_same_tensors(network: str) -> None:
    parameters = list(NETWORKS[network]())
    full, tenth = buckets(parameters), buckets(parameters, 0.1)
    assert [one.tensors for one in tenth] == [one.tensors for one in full]
    assert sum(one.items for one in tenth) == pytest.approx(
        sum(one.items for one in full) / 10, rel=1e-3
    )

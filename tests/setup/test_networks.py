"""The networks that trainings are benchmarked with are the published ones."""

from __future__ import annotations

import math

import pytest

from benchkit.networks import NETWORKS, scale_lengths


@pytest.mark.parametrize(
    ("network", "items", "tensors"),
    [
        ("alexnet", 61_100_840, 16),
        ("vgg16", 138_357_544, 32),
        ("resnet50", 25_557_032, 161),
        ("resnet152", 60_192_808, 467),
        ("densenet201", 20_013_928, 604),
        ("inception-v4", 42_679_816, 449),
        ("bert-base", 109_482_240, 199),
        ("gpt2", 124_439_808, 148),
    ],
)
def test_parameters_and_tensors(network: str, items: int, tensors: int) -> None:
    parameters = list(NETWORKS[network]())
    assert sum(parameter.items for parameter in parameters) == items
    assert len(parameters) == len({parameter.name for parameter in parameters}) == tensors


@pytest.mark.parametrize(
    ("network", "giga"),
    [
        ("alexnet", 0.71),
        ("vgg16", 15.47),
        ("resnet50", 4.09),
        ("resnet152", 11.51),
        ("densenet201", 4.29),
    ],
)
def test_multiply_adds_are_those_that_torchvision_lists(network: str, giga: float) -> None:
    total = sum(parameter.multiply_adds for parameter in NETWORKS[network]())
    assert round(total / 1e9, 2) == giga


def test_multiply_adds_of_bert_are_those_of_its_encoder() -> None:
    encoder = 12 * (4 * 768 * 768 + 2 * 768 * 3072)
    total = sum(parameter.multiply_adds for parameter in NETWORKS["bert-base"]())
    assert total == 128 * encoder + 768 * 768


def test_multiply_adds_of_gpt_are_those_of_its_matrices() -> None:
    matrices = 50_257 * 768 + 12 * (4 * 768 * 768 + 2 * 768 * 3072)
    total = sum(parameter.multiply_adds for parameter in NETWORKS["gpt2"]())
    assert total == 1024 * matrices


def test_shapes_of_single_layers() -> None:
    shapes = {
        name: {parameter.name: parameter.shape for parameter in network()}
        for name, network in NETWORKS.items()
    }
    assert shapes["alexnet"]["features.0.weight"] == (64, 3, 11, 11)
    assert shapes["vgg16"]["classifier.0.weight"] == (4096, 512 * 7 * 7)
    assert shapes["resnet50"]["layer4.0.downsample.weight"] == (2048, 1024, 1, 1)
    assert shapes["resnet50"]["layer4.2.conv2.weight"] == (512, 512, 3, 3)
    assert shapes["inception-v4"]["features.6.branch3.1.weight"] == (96, 384, 1, 1)
    assert shapes["densenet201"]["denseblock4.denselayer32.conv1.weight"] == (128, 1888, 1, 1)
    assert shapes["bert-base"]["embeddings.word"] == (30_522, 768)


def test_scaled_tensors_keep_their_shares_and_none_is_empty() -> None:
    parameters = list(NETWORKS["resnet50"]())
    lengths = scale_lengths(parameters, 0.01)
    assert min(lengths) >= 1
    assert math.isclose(sum(lengths), 255_570, rel_tol=0.01)
    assert scale_lengths(parameters, 1.0) == [parameter.items for parameter in parameters]

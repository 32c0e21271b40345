"""The parameters of published networks: names, shapes and multiply-adds, in the order of layers.

Every function makes the parameters from the architecture alone, as its authors or the library named
there build it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from benchkit.networks.convolutional import alexnet, resnet50, resnet152, vgg16
from benchkit.networks.densenet import densenet201
from benchkit.networks.inception import inception_v4
from benchkit.networks.layers import Parameter, scale_lengths
from benchkit.networks.transformers import bert_base, gpt2

__all__ = ["NETWORKS", "Parameter", "resnet50", "scale_lengths"]

NETWORKS: Mapping[str, Callable[[], Iterator[Parameter]]] = {
    "alexnet": alexnet,
    "vgg16": vgg16,
    "resnet50": resnet50,
    "resnet152": resnet152,
    "densenet201": densenet201,
    "inception-v4": inception_v4,
    "bert-base": bert_base,
    "gpt2": gpt2,
}

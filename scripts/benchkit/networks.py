"""The parameters of published networks: names, shapes and multiply-adds, in the order of layers.

Every function makes the parameters from the architecture alone, as its authors or the library named
there build it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

CLASSES = 1000
# What BERT's multiply-adds are counted for; published pre-training uses 128 for 90 % of its steps.
TOKENS = 128


@dataclass(frozen=True)
class Parameter:
    """One tensor of a network.

    Args:
        name: as in the library that the architecture's function names.
        shape: in elements.
        multiply_adds: that a forward pass of one sample does with it; 0 for biases, norms and
            tables in which rows are only looked up.
    """

    name: str
    shape: tuple[int, ...]
    multiply_adds: int = 0

    @property
    def items(self) -> int:
        """How many numbers it has."""
        return math.prod(self.shape)


def alexnet() -> Iterator[Parameter]:
    """AlexNet in one tower (Krizhevsky 2014, torchvision `alexnet`): 61,100,840 in 16 tensors."""
    convolutions = [(3, 64, 11, 55), (64, 192, 5, 27), (192, 384, 3, 13), (384, 256, 3, 13)]
    convolutions.append((256, 256, 3, 13))
    for number, (inputs, outputs, kernel, side) in enumerate(convolutions):
        yield from _convolution(f"features.{number}", inputs, outputs, kernel, side, bias=True)
    yield from _classifier(256 * 6 * 6)


def vgg16() -> Iterator[Parameter]:
    """VGG-16 (Simonyan and Zisserman 2015, configuration D): 138,357,544 in 32 tensors."""
    inputs, side = 3, 224
    for stage, (outputs, layers) in enumerate([(64, 2), (128, 2), (256, 3), (512, 3), (512, 3)]):
        for layer in range(layers):
            name = f"features.{stage}.{layer}"
            yield from _convolution(name, inputs, outputs, 3, side, bias=True)
            inputs = outputs
        side //= 2
    yield from _classifier(inputs * side * side)


def resnet50() -> Iterator[Parameter]:
    """ResNet-50 (He et al. 2016; torchvision, which strides at 3x3): 25,557,032 in 161 tensors."""
    yield from _normed("conv1", 3, 64, 7, 112)
    inputs, before = 64, 56
    for stage, (width, blocks, side) in enumerate(
        [(64, 3, 56), (128, 4, 28), (256, 6, 14), (512, 3, 7)], start=1
    ):
        for block in range(blocks):
            name, outputs = f"layer{stage}.{block}", 4 * width
            yield from _normed(f"{name}.conv1", inputs, width, 1, before)
            yield from _normed(f"{name}.conv2", width, width, 3, side)
            yield from _normed(f"{name}.conv3", width, outputs, 1, side)
            if block == 0:
                yield from _normed(f"{name}.downsample", inputs, outputs, 1, side)
            inputs, before = outputs, side
    yield from _linear("fc", inputs, CLASSES)


def bert_base() -> Iterator[Parameter]:
    """BERT-Base uncased (Devlin et al. 2019): 109,482,240 in 199 tensors.

    The encoder with its pooler, and no head (`BertModel` of transformers). Only the
    multiply-adds with parameters are counted, for `TOKENS` tokens.
    """
    width, inner = 768, 3072
    for name, rows in (("word", 30_522), ("position", 512), ("token_type", 2)):
        yield Parameter(f"embeddings.{name}", (rows, width))
    yield from _norm("embeddings.norm", width)
    for layer in range(12):
        name = f"encoder.{layer}"
        for part in ("query", "key", "value", "output"):
            yield from _linear(f"{name}.attention.{part}", width, width, TOKENS)
        yield from _norm(f"{name}.attention.norm", width)
        yield from _linear(f"{name}.intermediate", width, inner, TOKENS)
        yield from _linear(f"{name}.output", inner, width, TOKENS)
        yield from _norm(f"{name}.norm", width)
    yield from _linear("pooler", width, width)


NETWORKS: Mapping[str, Callable[[], Iterator[Parameter]]] = {
    "alexnet": alexnet,
    "vgg16": vgg16,
    "resnet50": resnet50,
    "bert-base": bert_base,
}


def scaled(parameters: Sequence[Parameter], scale: float) -> list[int]:
    """The length of every tensor times `scale`, one at least."""
    return [max(1, round(parameter.items * scale)) for parameter in parameters]


def _convolution(
    name: str, inputs: int, outputs: int, kernel: int, side: int, *, bias: bool
) -> Iterator[Parameter]:
    """A square kernel over an output of side x side."""
    shape = (outputs, inputs, kernel, kernel)
    yield Parameter(f"{name}.weight", shape, math.prod(shape) * side * side)
    if bias:
        yield Parameter(f"{name}.bias", (outputs,))


def _normed(name: str, inputs: int, outputs: int, kernel: int, side: int) -> Iterator[Parameter]:
    """A convolution without bias and the normalisation that follows it."""
    yield from _convolution(name, inputs, outputs, kernel, side, bias=False)
    yield from _norm(f"{name}.norm", outputs)


def _norm(name: str, width: int) -> Iterator[Parameter]:
    yield Parameter(f"{name}.weight", (width,))
    yield Parameter(f"{name}.bias", (width,))


def _linear(name: str, inputs: int, outputs: int, positions: int = 1) -> Iterator[Parameter]:
    yield Parameter(f"{name}.weight", (outputs, inputs), outputs * inputs * positions)
    yield Parameter(f"{name}.bias", (outputs,))


def _classifier(inputs: int) -> Iterator[Parameter]:
    """The three fully connected layers at the end of AlexNet and VGG."""
    for number, outputs in enumerate([4096, 4096, CLASSES]):
        yield from _linear(f"classifier.{number}", inputs, outputs)
        inputs = outputs

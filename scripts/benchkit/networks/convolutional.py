"""AlexNet, VGG and residual networks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchkit.networks.layers import Parameter, convolution, linear, normed_convolution

CLASSES = 1000


def alexnet() -> Iterator[Parameter]:
    """AlexNet in one tower (Krizhevsky 2014, torchvision `alexnet`): 61,100,840 in 16 tensors."""
    convolutions = [(3, 64, 11, 55), (64, 192, 5, 27), (192, 384, 3, 13), (384, 256, 3, 13)]
    convolutions.append((256, 256, 3, 13))
    for number, (inputs, outputs, kernel, side) in enumerate(convolutions):
        yield from convolution(f"features.{number}", inputs, outputs, kernel, side, bias=True)
    yield from _classifier(256 * 6 * 6)


def vgg16() -> Iterator[Parameter]:
    """VGG-16 (Simonyan and Zisserman 2015, configuration D): 138,357,544 in 32 tensors."""
    inputs, side = 3, 224
    for stage, (outputs, layers) in enumerate([(64, 2), (128, 2), (256, 3), (512, 3), (512, 3)]):
        for layer in range(layers):
            name = f"features.{stage}.{layer}"
            yield from convolution(name, inputs, outputs, 3, side, bias=True)
            inputs = outputs
        side //= 2
    yield from _classifier(inputs * side * side)


def resnet50() -> Iterator[Parameter]:
    """ResNet-50 (He et al. 2016; torchvision, which strides at 3x3): 25,557,032 in 161 tensors."""
    return _resnet((3, 4, 6, 3))


def resnet152() -> Iterator[Parameter]:
    """ResNet-152 (He et al. 2016; torchvision, as above): 60,192,808 in 467 tensors."""
    return _resnet((3, 8, 36, 3))


def _resnet(blocks_of_stages: Sequence[int]) -> Iterator[Parameter]:
    yield from normed_convolution("conv1", 3, 64, 7, 112)
    inputs, before = 64, 56
    for stage, blocks in enumerate(blocks_of_stages):
        width, side = 64 << stage, 56 >> stage
        for block in range(blocks):
            name, outputs = f"layer{stage + 1}.{block}", 4 * width
            yield from normed_convolution(f"{name}.conv1", inputs, width, 1, before)
            yield from normed_convolution(f"{name}.conv2", width, width, 3, side)
            yield from normed_convolution(f"{name}.conv3", width, outputs, 1, side)
            if block == 0:
                yield from normed_convolution(f"{name}.downsample", inputs, outputs, 1, side)
            inputs, before = outputs, side
    yield from linear("fc", inputs, CLASSES)


def _classifier(inputs: int) -> Iterator[Parameter]:
    """The three fully connected layers at the end of AlexNet and VGG."""
    for number, outputs in enumerate([4096, 4096, CLASSES]):
        yield from linear(f"classifier.{number}", inputs, outputs)
        inputs = outputs

"""Transformers."""

from __future__ import annotations

from collections.abc import Iterator

from benchkit.networks.layers import Parameter, linear, norm

WIDTH, INNER, LAYERS = 768, 3072, 12
# What BERT's multiply-adds are counted for; published pre-training uses 128 for 90 % of its steps.
BERT_TOKENS = 128
GPT2_TOKENS = 1024


def bert_base() -> Iterator[Parameter]:
    """BERT-Base uncased (Devlin et al. 2019): 109,482,240 in 199 tensors.

    The encoder with its pooler, and no head (`BertModel` of transformers). Only the
    multiply-adds with parameters are counted, for `BERT_TOKENS` tokens.
    """
    for name, rows in (("word", 30_522), ("position", 512), ("token_type", 2)):
        yield Parameter(f"embeddings.{name}", (rows, WIDTH))
    yield from norm("embeddings.norm", WIDTH)
    for layer in range(LAYERS):
        name = f"encoder.{layer}"
        for part in ("query", "key", "value", "output"):
            yield from linear(f"{name}.attention.{part}", WIDTH, WIDTH, BERT_TOKENS)
        yield from norm(f"{name}.attention.norm", WIDTH)
        yield from linear(f"{name}.intermediate", WIDTH, INNER, BERT_TOKENS)
        yield from linear(f"{name}.output", INNER, WIDTH, BERT_TOKENS)
        yield from norm(f"{name}.norm", WIDTH)
    yield from linear("pooler", WIDTH, WIDTH)


def gpt2() -> Iterator[Parameter]:
    """GPT-2, the smallest (Radford et al. 2019; transformers): 124,439,808 in 148 tensors.

    Its head is the table of words, which is counted once; the multiply-adds with it are of the
    head, and those of attention are not counted, for `GPT2_TOKENS` tokens.
    """
    words = 50_257
    yield Parameter("wte", (words, WIDTH), words * WIDTH * GPT2_TOKENS)
    yield Parameter("wpe", (1024, WIDTH))
    for layer in range(LAYERS):
        name = f"h.{layer}"
        yield from norm(f"{name}.ln_1", WIDTH)
        yield from linear(f"{name}.attn.c_attn", WIDTH, 3 * WIDTH, GPT2_TOKENS)
        yield from linear(f"{name}.attn.c_proj", WIDTH, WIDTH, GPT2_TOKENS)
        yield from norm(f"{name}.ln_2", WIDTH)
        yield from linear(f"{name}.mlp.c_fc", WIDTH, INNER, GPT2_TOKENS)
        yield from linear(f"{name}.mlp.c_proj", INNER, WIDTH, GPT2_TOKENS)
    yield from norm("ln_f", WIDTH)

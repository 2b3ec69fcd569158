"""Small convolutional networks on MNIST (App. C.2), many of one batch size trained side by side.

G        networks trained side by side, each with its own learning rate and decay; one is the live objective
b        batch size
η_k      η / (1 + decay · k): the learning rate of step k = 0, 1, ... (inverse time, as optimisers called "decay" then)

    3×3 convolution to 8 channels, ReLU, max-pool 3, fully connected layer of 8, ReLU, linear layer to the 10 digits
    cross-entropy, Adam (0.9, 0.999, 1e-8), EPOCHS passes; validation accuracy on the 10,000 test images

All networks of a seed begin with the same weights and see the same batches, so that training one alone or among
others gives the same network but for rounding. (PyTorch is imported where it is used: pip install ".[cnn]".)
"""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from belated.learner.arrays import Array
from reproduction.download import find_dataset

if TYPE_CHECKING:
    import torch


EPOCHS = 3
CHANNELS, POOLED, NODES, DIGITS = 8, 8 * 8 * 8, 8, 10


def read_idx(name: str) -> NDArray[np.uint8]:
    """One of the four original files: a big-endian header, then bytes."""
    with gzip.open(find_dataset(f"mnist/{name}")) as file:
        content = file.read()
    shape = np.frombuffer(content, dtype=">u4", count=content[3], offset=4)
    return np.frombuffer(content, dtype=np.uint8, offset=4 + 4 * content[3]).reshape(shape)


@cache
def load_images(part: str, device: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Pixels in [0, 1] and digits, of "train" or "t10k"."""
    import torch

    pixels = torch.from_numpy(read_idx(f"{part}-images-idx3-ubyte.gz").astype(np.float32) / 255.0)
    return pixels[:, None].to(device), torch.from_numpy(read_idx(f"{part}-labels-idx1-ubyte.gz").astype(np.int64)).to(
        device
    )


def draw_initial_weights(seed: int, G: int, device: str) -> list[torch.Tensor]:
    """The weights that G networks begin with: each uniform within ±1/√(inputs), as PyTorch's layers do."""
    import torch

    rng = torch.Generator().manual_seed(seed)
    weights = []
    for shape, inputs in (
        ((CHANNELS, 1, 3, 3), 9),
        ((CHANNELS,), 9),
        ((POOLED, NODES), POOLED),
        ((1, NODES), POOLED),
        ((NODES, DIGITS), NODES),
        ((1, DIGITS), NODES),
    ):
        one = (2.0 * torch.rand(shape, generator=rng) - 1.0) / inputs**0.5
        weights.append(one.expand(G, *shape).clone().to(device).requires_grad_())
    return weights


def compute_logits(weights: Sequence[torch.Tensor], x: torch.Tensor) -> torch.Tensor:
    """What each network says of every image                     (G, b, 10)."""
    from torch.nn.functional import conv2d, max_pool2d

    W1, b1, W2, b2, W3, b3 = weights
    G = len(W1)
    h = max_pool2d(conv2d(x, W1.reshape(G * CHANNELS, 1, 3, 3), b1.reshape(-1)).relu(), 3)
    h = h.reshape(len(x), G, POOLED).transpose(0, 1)
    return (h @ W2 + b2).relu() @ W3 + b3


def train_networks(b: int, rates: Array, decays: Array, seed: int, device: str = "cpu", epochs: int = EPOCHS) -> Array:
    """The validation accuracy of networks trained with these learning rates and decays           (G,)."""
    import torch
    from torch.nn.functional import cross_entropy

    x, digit = load_images("train", device)
    G = len(rates)
    weights = draw_initial_weights(seed, G, device)
    eta, decay = (torch.as_tensor(v, dtype=torch.float32, device=device) for v in (rates, decays))
    first, second = ([torch.zeros_like(w) for w in weights] for _ in range(2))
    shuffled = torch.Generator().manual_seed(seed + 1)
    k = 0
    for _ in range(epochs):
        order = torch.randperm(len(x), generator=shuffled).to(device)
        for start in range(0, len(x), b):
            rows = order[start : start + b]
            said = compute_logits(weights, x[rows])
            # The sum over networks of each one's mean loss: their gradients do not touch each other.
            loss = cross_entropy(said.reshape(-1, DIGITS), digit[rows].repeat(G), reduction="sum") / len(rows)
            gradients = torch.autograd.grad(loss, weights)
            step = eta / (1.0 + decay * k) * ((1.0 - 0.999 ** (k + 1)) ** 0.5 / (1.0 - 0.9 ** (k + 1)))
            with torch.no_grad():
                for w, g, m, v in zip(weights, gradients, first, second, strict=True):
                    m.lerp_(g, 0.1)
                    v.mul_(0.999).addcmul_(g, g, value=0.001)
                    w.sub_(step.reshape(-1, *[1] * (w.dim() - 1)) * m / (v.sqrt() + 1e-8))
            k += 1
    return measure_accuracy(weights, device)


def measure_accuracy(weights: Sequence[torch.Tensor], device: str) -> Array:
    """The share of the test images that each network reads rightly; one that has diverged reads all as 0  (G,)."""
    import torch

    x, digit = load_images("t10k", device)
    right = torch.zeros(len(weights[0]), device=device)
    with torch.no_grad():
        for start in range(0, len(x), 500):
            said = compute_logits(weights, x[start : start + 500]).nan_to_num().argmax(dim=2)
            right += (said == digit[start : start + 500]).sum(dim=1)
    return np.asarray(right.cpu().numpy() / len(x), dtype=float)

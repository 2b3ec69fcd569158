"""The live network agrees with the table where it is spot-checked, alone or among others (needs PyTorch)."""

import numpy as np
import pytest

from reproduction.objectives import cnn
from tests.reproduction.needs_data import needs_data

pytestmark = [pytest.mark.cnn, needs_data("mnist/train-images-idx3-ubyte.gz")]


@pytest.mark.parametrize(
    ("b", "i", "j", "seed"),
    [
        (128, 14, 5, 2),  # rate 0.03, decay 0.002: the best of the grid
        (512, 11, 4, 0),  # rate 0.01, decay 0.001
        (256, 31, 0, 1),  # rate 1: destroyed at once
    ],
)
def test_training_a_network_gives_what_the_table_says(b: int, i: int, j: int, seed: int) -> None:
    found = cnn.train_one({"batch": b, "rate": cnn.RATE[i], "decay": cnn.DECAY[j]}, seed)
    # Sums are taken in another order here than where the table was made: a few of 10,000 images are read otherwise.
    assert found == pytest.approx(cnn.load_table()[seed, cnn.BATCH.index(b), i, j], abs=0.005)


def test_networks_side_by_side_are_the_networks_alone() -> None:
    from reproduction.objectives.networks import train_networks

    rates, decays = np.array([0.002, 0.02]), np.array([0.01, 0.0])
    together = train_networks(512, rates, decays, seed=0, epochs=1)
    alone = [train_networks(512, rates[k : k + 1], decays[k : k + 1], seed=0, epochs=1)[0] for k in range(2)]
    assert together == pytest.approx(alone, abs=0.005)
    assert together[0] != together[1]


def test_a_digit_file_is_read_as_it_was_written() -> None:
    from reproduction.objectives.networks import read_idx

    digits, images = read_idx("t10k-labels-idx1-ubyte.gz"), read_idx("t10k-images-idx3-ubyte.gz")
    assert images.shape == (10000, 28, 28)
    assert np.bincount(digits).tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    assert images.max() == 255

"""Inner loop of the XXH64 hash."""

import numpy as np

from ranksieve._kernels.compiling import kernel

_PRIME_1 = np.uint64(11400714785074694791)
_PRIME_2 = np.uint64(14029467366897019727)


@kernel
def mix(state, words):
    """Mix 64-bit words, whose number is a multiple of 4, into the four words of state in place."""
    for first in range(0, words.size, 4):
        for lane in range(4):
            mixed = state[lane] + words[first + lane] * _PRIME_2
            state[lane] = ((mixed << np.uint64(31)) | (mixed >> np.uint64(33))) * _PRIME_1

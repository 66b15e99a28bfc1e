"""Functions of networks, pure and over plain arrays: activations, layers, losses, initializers."""

from __future__ import annotations

from funcgrad.ops.neural import relu as relu
from funcgrad.ops.neural import sigmoid as sigmoid
from funcgrad.ops.neural import softmax_cross_entropy as softmax_cross_entropy

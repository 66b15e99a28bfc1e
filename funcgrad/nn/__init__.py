"""Functions of networks, pure and over plain arrays: activations, layers, losses, initializers.

Owns compositions of operations; what deserves a rule of its own is a primitive of `funcgrad.ops.neural`. Holds no state: parameters are
trees that the caller owns.
"""

from funcgrad.nn import init as init
from funcgrad.nn.activations import elu as elu
from funcgrad.nn.activations import gelu as gelu
from funcgrad.nn.activations import leaky_relu as leaky_relu
from funcgrad.nn.activations import log_sigmoid as log_sigmoid
from funcgrad.nn.activations import log_softmax as log_softmax
from funcgrad.nn.activations import logsumexp as logsumexp
from funcgrad.nn.activations import relu as relu
from funcgrad.nn.activations import sigmoid as sigmoid
from funcgrad.nn.activations import silu as silu
from funcgrad.nn.activations import softmax as softmax
from funcgrad.nn.activations import softplus as softplus
from funcgrad.nn.layers import dense as dense
from funcgrad.nn.layers import dropout as dropout
from funcgrad.nn.layers import layer_norm as layer_norm
from funcgrad.nn.layers import mlp as mlp
from funcgrad.nn.layers import one_hot as one_hot
from funcgrad.nn.losses import huber as huber
from funcgrad.nn.losses import logistic_loss as logistic_loss
from funcgrad.nn.losses import mse as mse
from funcgrad.nn.losses import sigmoid_binary_cross_entropy as sigmoid_binary_cross_entropy
from funcgrad.ops.neural import softmax_cross_entropy as softmax_cross_entropy

__all__ = [
    "dense",
    "dropout",
    "elu",
    "gelu",
    "huber",
    "init",
    "layer_norm",
    "leaky_relu",
    "log_sigmoid",
    "log_softmax",
    "logistic_loss",
    "logsumexp",
    "mlp",
    "mse",
    "one_hot",
    "relu",
    "sigmoid",
    "sigmoid_binary_cross_entropy",
    "silu",
    "softmax",
    "softmax_cross_entropy",
    "softplus",
]

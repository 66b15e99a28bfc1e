"""Optimizers: pairs of pure functions (init, update) over trees of parameters.

    state = optimizer.init(params)
    updates, state = optimizer.update(grads, state, params)
    params = apply_updates(params, updates)

Owns update rules, how they are put in a row, and schedules. Must not compute gradients. Works on floating-point arrays, Python floats
(which stay so, and which Python ints become) and tracers, so that one can differentiate through a step. float16 leaves are computed with in
float32, and have float32 states.
"""

from funcgrad.optim.adaptive import ScaleByAdamState as ScaleByAdamState
from funcgrad.optim.adaptive import ScaleByLionState as ScaleByLionState
from funcgrad.optim.adaptive import ScaleByRmsState as ScaleByRmsState
from funcgrad.optim.adaptive import ScaleByRssState as ScaleByRssState
from funcgrad.optim.adaptive import ScaleByStddevState as ScaleByStddevState
from funcgrad.optim.adaptive import scale_by_adam as scale_by_adam
from funcgrad.optim.adaptive import scale_by_lion as scale_by_lion
from funcgrad.optim.adaptive import scale_by_rms as scale_by_rms
from funcgrad.optim.adaptive import scale_by_rss as scale_by_rss
from funcgrad.optim.adaptive import scale_by_stddev as scale_by_stddev
from funcgrad.optim.base import EmptyState as EmptyState
from funcgrad.optim.base import Optimizer as Optimizer
from funcgrad.optim.base import Schedule as Schedule
from funcgrad.optim.base import apply_updates as apply_updates
from funcgrad.optim.base import chain as chain
from funcgrad.optim.base import identity as identity
from funcgrad.optim.clipping import clip as clip
from funcgrad.optim.clipping import clip_by_global_norm as clip_by_global_norm
from funcgrad.optim.optimizers import adagrad as adagrad
from funcgrad.optim.optimizers import adam as adam
from funcgrad.optim.optimizers import adamw as adamw
from funcgrad.optim.optimizers import lion as lion
from funcgrad.optim.optimizers import nadam as nadam
from funcgrad.optim.optimizers import rmsprop as rmsprop
from funcgrad.optim.optimizers import sgd as sgd
from funcgrad.optim.schedules import constant as constant
from funcgrad.optim.schedules import cosine_decay as cosine_decay
from funcgrad.optim.schedules import exponential_decay as exponential_decay
from funcgrad.optim.schedules import join as join
from funcgrad.optim.schedules import linear as linear
from funcgrad.optim.schedules import piecewise as piecewise
from funcgrad.optim.schedules import warmup_cosine_decay as warmup_cosine_decay
from funcgrad.optim.transforms import CountState as CountState
from funcgrad.optim.transforms import EmaState as EmaState
from funcgrad.optim.transforms import TraceState as TraceState
from funcgrad.optim.transforms import add_decayed_weights as add_decayed_weights
from funcgrad.optim.transforms import ema as ema
from funcgrad.optim.transforms import scale as scale
from funcgrad.optim.transforms import scale_by_learning_rate as scale_by_learning_rate
from funcgrad.optim.transforms import scale_by_schedule as scale_by_schedule
from funcgrad.optim.transforms import trace as trace

__all__ = [
    "CountState",
    "EmaState",
    "EmptyState",
    "Optimizer",
    "ScaleByAdamState",
    "ScaleByLionState",
    "ScaleByRmsState",
    "ScaleByRssState",
    "ScaleByStddevState",
    "Schedule",
    "TraceState",
    "adagrad",
    "adam",
    "adamw",
    "add_decayed_weights",
    "apply_updates",
    "chain",
    "clip",
    "clip_by_global_norm",
    "constant",
    "cosine_decay",
    "ema",
    "exponential_decay",
    "identity",
    "join",
    "linear",
    "lion",
    "nadam",
    "piecewise",
    "rmsprop",
    "scale",
    "scale_by_adam",
    "scale_by_learning_rate",
    "scale_by_lion",
    "scale_by_rms",
    "scale_by_rss",
    "scale_by_schedule",
    "scale_by_stddev",
    "sgd",
    "trace",
    "warmup_cosine_decay",
]

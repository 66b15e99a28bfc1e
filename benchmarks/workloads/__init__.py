"""The workloads, one file each, with every peer's implementation side by side."""

from benchmarks.workload import Workload
from benchmarks.workloads import (
    big1e6,
    chain200,
    digits_epoch,
    digits_training,
    forward1e5,
    jacobian50,
    lstm_step,
    mlp_step,
    per_example128,
    recomputed,
    rosen100,
    scalar1000,
    scalar_moons,
)

WORKLOADS: tuple[Workload, ...] = (
    mlp_step.WORKLOAD,
    chain200.WORKLOAD,
    big1e6.WORKLOAD,
    rosen100.GRADIENT,
    rosen100.HESSIAN,
    rosen100.PRODUCT,
    lstm_step.WORKLOAD,
    jacobian50.WORKLOAD,
    per_example128.WORKLOAD,
    forward1e5.JVP,
    forward1e5.LINEARIZED,
    recomputed.CHECKPOINT,
    recomputed.SCAN,
    scalar1000.WORKLOAD,
    scalar_moons.WORKLOAD,
    digits_epoch.WORKLOAD,
    digits_training.WITH_MOMENTUM,
    digits_training.WITH_ADAM,
)

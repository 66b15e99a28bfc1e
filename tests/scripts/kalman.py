"""The likelihood of a damped local trend, seen through noise with gaps, by a Kalman filter.

The state is (level, slope); the slope decays by a factor `damping` each step. Observations that are missing are NaN.
"""

import numpy as np


def make_data():
    rng = np.random.default_rng(1)
    level, slope, seen = 1.0, 0.3, []
    for _ in range(25):
        level, slope = level + slope + 0.1 * rng.normal(), 0.8 * slope + 0.2 * rng.normal()
        seen.append(level + 0.3 * rng.normal())
    y = np.array(seen)
    y[[4, 11, 12, 19]] = np.nan
    return y


def start():
    return {"damping": 0.7, "log_noise": {"level": -2.0, "slope": -1.5, "seen": -1.0}, "mean": np.array([0.8, 0.1])}


def model(params):
    level_to_level = np.array([[1.0, 1.0], [0.0, 0.0]])
    slope_to_slope = np.array([[0.0, 0.0], [0.0, 1.0]])
    F = level_to_level + params["damping"] * slope_to_slope
    log_noise = params["log_noise"]
    Q = np.diag(np.exp(2 * np.stack([log_noise["level"], log_noise["slope"]])))
    R = np.exp(2 * log_noise["seen"])
    return F, Q, R


def step(m, P, F, Q):
    return F @ m, F @ P @ F.T + Q


def objective(params, y):
    """Minus the log-likelihood."""
    F, Q, R = model(params)
    H = np.array([1.0, 0.0])
    m, P = params["mean"], np.eye(2)
    total = 0.0
    for observed in y:
        m, P = step(m, P, F, Q)
        if np.isnan(observed):
            continue
        innovation = observed - H @ m
        S = H @ P @ H + R
        gain = P @ H / S
        m = m + gain * innovation
        A = np.eye(2) - np.outer(gain, H)
        P = A @ P @ A.T + R * np.outer(gain, gain)
        total += 0.5 * (np.log(2 * np.pi * S) + innovation**2 / S)
    return total

"""Gaussian-process regression: the log marginal likelihood of the hyperparameters of a sum of two kernels, and the posterior mean."""

import numpy as np


def make_data():
    rng = np.random.default_rng(2)
    X = rng.uniform(-2, 2, (18, 2))
    y = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] ** 2 + 0.1 * rng.normal(size=18)
    return X, y


def start():
    return {
        "log_scale": np.array([-0.2, 0.4]),
        "log_amplitude": 0.1,
        "log_roughness": -0.5,
        "log_noise": -1.5,
        "trend": np.array([0.2, -0.1, 0.3]),
    }


def squared_distance(A, B):
    d2 = np.sum(A**2, axis=1)[:, None] + np.sum(B**2, axis=1)[None, :] - 2 * A @ B.T
    return np.maximum(d2, 0.0)


def kernel(params, A, B):
    scale = np.exp(params["log_scale"])
    d2 = squared_distance(A / scale, B / scale)
    smooth = np.exp(-0.5 * d2)
    alpha = np.exp(params["log_roughness"])
    rough = (1 + d2 / (2 * alpha)) ** (-alpha)
    return np.exp(2 * params["log_amplitude"]) * (smooth + rough)


def mean(params, X):
    return np.polyval(params["trend"], X[:, 0])


def factors(params, X, y):
    K = kernel(params, X, X) + np.exp(2 * params["log_noise"]) * np.eye(len(X))
    L = np.linalg.cholesky(K)
    whitened = np.linalg.solve(L, y - mean(params, X))
    return L, whitened


def predict(params, data, new):
    X, y = data
    L, whitened = factors(params, X, y)
    return mean(params, new) + np.linalg.solve(L, kernel(params, X, new)).T @ whitened


def objective(params, data):
    """Minus the log marginal likelihood, and a penalty on how far the posterior mean goes beyond 2 on the corners."""
    X, y = data
    L, whitened = factors(params, X, y)
    fit = 0.5 * whitened @ whitened
    complexity = np.log(np.diagonal(L)).sum()
    corners = np.array([[-2.0, -2.0], [-2.0, 2.0], [2.0, -2.0], [2.0, 2.0]])
    excess = np.clip(predict(params, data, corners), -2.0, 2.0) - predict(params, data, corners)
    return fit + complexity + 0.5 * len(y) * np.log(2 * np.pi) + np.dot(excess, excess)

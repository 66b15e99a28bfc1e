"""Logistic regression with all pairwise interactions, class weights, and elastic-net shrinkage."""

import numpy as np


def make_data():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(60, 4))
    logits = 0.8 * X[:, 0] - X[:, 1] + 1.2 * X[:, 0] * X[:, 2] - 0.5
    labels = rng.uniform(size=60) < 1 / (1 + np.exp(-logits))
    return X, labels.astype(int)


def start():
    rng = np.random.default_rng(80)
    return {
        "intercept": 0.1,
        "main": rng.normal(0.0, 0.5, 4),
        "pairs": rng.normal(0.0, 0.3, (4, 4)),
        "powers": [np.array([1.0, 1.1, 0.9, 1.2]), np.array(0.3)],
    }


def standardized(X):
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)


def features(X, powers):
    """The signed powers of the columns, and their pairwise products."""
    exponents, offset = powers
    Z = standardized(np.sign(X) * (np.abs(X) + offset**2) ** exponents)
    i, j = np.triu_indices(Z.shape[1], k=1)
    return Z, Z[:, i] * Z[:, j]


def scores(params, X):
    Z, products = features(X, params["powers"])
    i, j = np.triu_indices(Z.shape[1], k=1)
    pairs = params["pairs"] + params["pairs"].T
    return params["intercept"] + Z @ params["main"] + products @ pairs[i, j]


def probabilities(params, X):
    s = scores(params, X)
    return np.where(s >= 0, 1 / (1 + np.exp(-np.abs(s))), np.exp(-np.abs(s)) / (1 + np.exp(-np.abs(s))))


def penalty(params, l1=0.01, l2=0.1):
    total = 0.0
    for name in "main", "pairs":
        w = params[name]
        total += l1 * np.abs(w).sum() + l2 * (w * w).sum()
    return total


def objective(params, data):
    """The weighted cross-entropy, a calibration term, and the penalty."""
    X, labels = data
    s = scores(params, X)
    share = labels.mean()
    weights = np.where(labels == 1, 0.5 / share, 0.5 / (1 - share))
    losses = np.logaddexp(0.0, -(2 * labels - 1) * s)
    calibration = (np.mean(probabilities(params, X)) - share) ** 2
    return np.average(losses, weights=weights) + calibration + penalty(params)

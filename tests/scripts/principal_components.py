"""Principal components of transformed columns: weights that let few components explain much, and reconstruct well."""

import numpy as np

KEPT = 2


def make_data():
    rng = np.random.default_rng(10)
    hidden = rng.normal(size=(30, 2)) * np.array([2.0, 1.2])
    loadings = rng.normal(size=(2, 5))
    return hidden @ loadings + 0.3 * rng.normal(size=(30, 5))


def start():
    return {"log_weights": np.array([0.1, -0.2, 0.0, 0.3, -0.1]), "center": np.array([0.1, 0.2, -0.1, 0.0, 0.05]), "angle": 0.4}


def transformed(params, X):
    """Centered, weighted, and the first two columns turned."""
    Y = (X - np.median(X, axis=0) - params["center"]) * np.exp(params["log_weights"])
    c, s = np.cos(params["angle"]), np.sin(params["angle"])
    first, second = Y[:, 0], Y[:, 1]
    return np.column_stack([c * first - s * second, s * first + c * second, Y[:, 2:]])


def explained(C):
    """The share of the variance in each component, the largest first."""
    values = np.linalg.eigvalsh(C)[::-1]
    return values / values.sum()


def projector(C):
    _, vectors = np.linalg.eigh(C)
    top = vectors[:, -KEPT:]
    return top @ top.T


def reconstruction_error(Y):
    """Of the best approximation of rank 2, by the singular value decomposition."""
    U, s, Vt = np.linalg.svd(Y, full_matrices=False)
    low = U[:, :KEPT] * s[:KEPT] @ Vt[:KEPT]
    return np.mean(np.tanh(Y - low) ** 2)


def effective_number(shares):
    """exp of the entropy of the shares."""
    return np.exp(-np.sum(shares * np.log(shares)))


def objective(params, X):
    Y = transformed(params, X)
    C = np.cov(Y, rowvar=False)
    P = projector(C)
    shares = explained(C)
    cumulative = np.cumsum(shares)
    spread = np.prod(1 + np.diagonal(P))
    balance = np.ptp(params["log_weights"]) ** 2 + np.trace(C @ P) / np.trace(C)
    return effective_number(shares) - cumulative[KEPT - 1] + reconstruction_error(Y) + 0.1 * spread + 0.05 * balance

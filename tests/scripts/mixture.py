"""The log-likelihood of a mixture of Gaussians in the plane, with an outlier class and a penalty that keeps the components apart."""

import numpy as np

COMPONENTS = 3


def make_data():
    rng = np.random.default_rng(6)
    centers = np.array([[-2.0, 0.0], [1.0, 1.5], [1.5, -1.0]])
    clusters = [rng.normal(center, 0.5, (12, 2)) for center in centers]
    return np.vstack([*clusters, rng.uniform(-4, 4, (3, 2))])


def start():
    return {
        "logits": np.array([0.1, -0.2, 0.3]),
        "means": np.array([[-1.5, 0.2], [0.8, 1.0], [1.2, -0.7]]),
        "roots": np.array([[0.8, 0.1, 0.7], [0.9, -0.2, 0.8], [0.7, 0.3, 0.9]]),
        "outliers": -3.0,
    }


def covariances(roots):
    """A A^T from the lower triangles A, which are kept as (a11, a21, a22)."""
    a, b, c = roots.T
    A = np.stack([np.stack([a, np.zeros_like(a)], axis=-1), np.stack([b, c], axis=-1)], axis=-2)
    return A @ np.swapaxes(A, -1, -2) + 0.01 * np.eye(2)


def log_softmax(logits):
    shifted = logits - logits.max()
    return shifted - np.log(np.exp(shifted).sum())


def log_densities(points, means, covs):
    """One for each point and component, shape (n, k)."""
    difference = points[:, None, :] - means[None, :, :]
    precision = np.linalg.inv(covs)
    _, logdet = np.linalg.slogdet(covs)
    mahalanobis = np.einsum("nki,kij,nkj->nk", difference, precision, difference)
    return -0.5 * (mahalanobis + logdet + 2 * np.log(2 * np.pi))


def repulsion(means):
    """Large where two means are close; the components are taken from left to right."""
    ordered = means[np.argsort(means[:, 0])]
    total = 0.0
    for i in range(COMPONENTS):
        for j in range(i):
            total += np.exp(-np.linalg.norm(ordered[i] - ordered[j]) / (1 + i - j))
    return total


def objective(params, points):
    """Minus the mean log-likelihood, and the repulsion."""
    weights = log_softmax(params["logits"])
    joint = weights + log_densities(points, params["means"], covariances(params["roots"]))
    top = joint.max(axis=1, keepdims=True)
    inside = np.squeeze(top, axis=1) + np.log(np.sum(np.exp(joint - top), axis=1))
    rare = params["outliers"]
    inlier = -np.logaddexp(0.0, rare)
    outlier = rare + inlier - np.log(64.0)
    return -np.mean(np.logaddexp(inlier + inside, outlier)) + 0.1 * repulsion(params["means"])

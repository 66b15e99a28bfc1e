"""A plane truss by finite elements: bar areas and free node heights for a stiff, light structure.

Each bar's stiffness is a matrix in its own four degrees of freedom. A matrix of zeros and ones for each bar places it among all of them.
"""

import numpy as np

E_MODULUS = 200.0
DENSITY = 0.1


def make_data():
    x = np.array([0.0, 1.0, 2.0, 0.0, 1.0, 2.0])
    bars = np.array([[0, 1], [1, 2], [3, 4], [4, 5], [1, 4], [2, 5], [0, 4], [1, 3], [1, 5], [2, 4]])
    fixed = [0, 1, 6, 7]
    loads = np.zeros(12)
    loads[5], loads[11], loads[9] = -1.0, -0.5, -0.2
    return x, bars, fixed, loads


def start():
    """The areas of the bars, and the heights of the nodes."""
    areas = np.array([1.0, 0.8, 1.1, 0.9, 0.4, 0.5, 0.7, 0.6, 0.8, 0.75])
    heights = np.array([0.0, 0.05, -0.1, 1.0, 0.95, 0.8])
    return areas, heights


def geometry(nodes, bars):
    """The lengths (bars,) and directions (bars, 2)."""
    along = nodes[bars[:, 1]] - nodes[bars[:, 0]]
    lengths = np.linalg.norm(along, axis=1)
    return lengths, along / lengths[:, None]


def elongations(nodes, bars):
    """The matrix that takes displacements to elongations of the bars, shape (bars, 2 * nodes)."""
    _, directions = geometry(nodes, bars)
    rows = []
    for (i, j), (c, s) in zip(bars, directions):
        place = np.eye(2 * len(nodes))[[2 * i, 2 * i + 1, 2 * j, 2 * j + 1]]
        rows.append(np.stack([-c, -s, c, s]) @ place)
    return np.vstack(rows)


def stiffness(nodes, bars, areas):
    """The assembled stiffness matrix: the sum of B^T k B over the bars."""
    lengths, _ = geometry(nodes, bars)
    K = np.zeros((2 * len(nodes), 2 * len(nodes)))
    for k, b in zip(E_MODULUS * areas / lengths, elongations(nodes, bars)):
        K = K + k * np.outer(b, b)
    return K


def solve(params, data):
    """The displacements of all degrees of freedom, and the tensions of the bars."""
    areas, heights = params
    x, bars, fixed, loads = data
    nodes = np.column_stack([x, heights])
    free = np.setdiff1d(np.arange(len(loads)), fixed)
    K = stiffness(nodes, bars, areas)
    u_free = np.linalg.solve(K[np.ix_(free, free)], loads[free])
    u = np.eye(len(loads))[:, free] @ u_free
    lengths, _ = geometry(nodes, bars)
    return u, E_MODULUS * areas / lengths * (elongations(nodes, bars) @ u)


def objective(params, data):
    """Compliance, weight, and a penalty on compressed bars."""
    areas, heights = params
    x, bars, _, loads = data
    u, tensions = solve(params, data)
    lengths, _ = geometry(np.column_stack([x, heights]), bars)
    weight = DENSITY * np.dot(areas, lengths)
    compressed = np.where(tensions < 0, tensions, 0.0) / areas
    return 10 * loads @ u + weight + 1e-2 * np.sum(compressed**2)

"""A driven, damped pendulum by the classical Runge-Kutta method, fitted to a few noisy angles."""

import numpy as np

G = 9.81
STEP = 0.05


def make_data():
    rng = np.random.default_rng(3)
    times = np.sort(rng.uniform(0.0, 2.9, 12))
    angles = 0.6 * np.exp(-0.15 * times) * np.cos(2.6 * times) + 0.02 * rng.normal(size=12)
    return times, angles


def start():
    """(angle, angular velocity), (length, damping), and the drive: (amplitude, frequency)."""
    return (0.5, 0.1), np.array([1.3, 0.25]), [0.4, 1.7]


def acceleration(t, angle, velocity, rod, drive):
    length, damping = rod
    amplitude, frequency = drive
    friction = damping * velocity
    if velocity > 0.5:
        friction = friction + 0.1 * (velocity - 0.5) ** 2
    return -G / length * np.sin(angle) - friction + amplitude * np.cos(frequency * t)


def runge_kutta(f, t, y, h):
    k1 = f(t, y)
    k2 = f(t + h / 2, y + h / 2 * k1)
    k3 = f(t + h / 2, y + h / 2 * k2)
    k4 = f(t + h, y + h * k3)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def simulate(params, duration):
    state, rod, drive = params

    def f(t, y):
        angle, velocity = y
        return np.stack([velocity, acceleration(t, angle, velocity, rod, drive)])

    n = round(duration / STEP)
    times = np.linspace(0.0, n * STEP, n + 1)
    path = [np.stack(state)]
    for t in times[:-1]:
        path.append(runge_kutta(f, t, path[-1], STEP))
    return times, np.stack(path)


def objective(params, data):
    """The mean squared error of the angles, and the energy left at the end."""
    seen_at, seen = data
    times, path = simulate(params, 3.0)
    angle, velocity = path.T
    error = np.interp(seen_at, times, angle) - seen
    length = params[1][0]
    energy = 0.5 * (length * velocity[-1]) ** 2 + G * length * (1 - np.cos(angle[-1]))
    return np.mean(error**2) + 0.01 * energy

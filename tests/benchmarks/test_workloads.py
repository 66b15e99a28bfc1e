"""The hand-written derivatives against numeric ones, and every quick peer against the hand-written ones."""

import numpy as np
import pytest

from benchmarks import measure, memory_probe, peers
from benchmarks.workloads import WORKLOADS, big1e6, chain200, digits_epoch, jacobian50, lstm_step, mlp_step, rosen100, scalar_moons

STEP = 1e-20  # of the complex step: its error is that of the rounding only


def complex_step_gradient(f, x):
    """Gradient of an analytic f at a float64 array, exact to rounding."""
    gradient = np.empty_like(x)
    for index in np.ndindex(x.shape):
        moved = x.astype(complex)
        moved[index] += 1j * STEP
        gradient[index] = f(moved).imag / STEP
    return gradient


SINGLE_ARRAY = {
    "chain200": (lambda x: chain200.chain(np, x), chain200.value_and_gradient, chain200.make_input()),
    "big1e6": (lambda x: big1e6.bump(np, x), big1e6.value_and_gradient, big1e6.make_input()[:12]),
    "rosen100_grad": (lambda x: rosen100.rosen(np, x), lambda x: (rosen100.rosen(np, x), rosen100.gradient(x)), rosen100.make_input()),
    "tanh50": (lambda x: memory_probe.tanh50(np, x), lambda x: (None, memory_probe._tanh50_by_hand(x)), np.linspace(-2.0, 2.0, 9)),
    "half_sin50": (
        lambda x: memory_probe.half_sin50(np, x),
        lambda x: (None, memory_probe._half_sin50_by_hand(x)),
        np.linspace(-2.0, 2.0, 9),
    ),
}


@pytest.mark.parametrize("name", SINGLE_ARRAY)
def test_hand_written_gradient_is_the_complex_step(name):
    f, by_hand, x = SINGLE_ARRAY[name]
    value, gradient = by_hand(x)
    if value is not None:
        assert value == pytest.approx(f(x), rel=1e-14)
    np.testing.assert_allclose(gradient, complex_step_gradient(f, x), rtol=1e-11, atol=1e-13)


def test_hand_written_hessian_is_the_complex_step_of_the_gradient():
    x, v = rosen100.make_input(), rosen100.make_vector()
    columns = []
    for k in range(x.size):
        moved = x.astype(complex)
        moved[k] += 1j * STEP
        columns.append(rosen100.gradient(moved).imag / STEP)
    expected = np.stack(columns, axis=1)
    np.testing.assert_allclose(rosen100.hessian(x), expected, rtol=1e-12, atol=1e-10)
    np.testing.assert_allclose(rosen100.hessian_vector_product(x, v), expected @ v, rtol=1e-12, atol=1e-10)


def test_hand_written_jacobian_is_the_complex_step():
    first, second, x = jacobian50.make_inputs()
    expected = np.stack(
        [jacobian50.layers(np, first, second, x + 1j * STEP * direction).imag / STEP for direction in np.eye(x.size)], axis=1
    )
    np.testing.assert_allclose(jacobian50.jacobian(first, second, x), expected, rtol=1e-12, atol=1e-14)


def test_hand_written_jvp_is_the_complex_step():
    x, tangent = np.linspace(-2.0, 2.0, 9), np.linspace(1.0, 3.0, 9)
    value, derivative = memory_probe._sin200_by_hand(x, tangent)
    moved = memory_probe.sin200(np, x + 1j * STEP * tangent)
    np.testing.assert_allclose(value, moved.real, rtol=1e-14)
    np.testing.assert_allclose(derivative, moved.imag / STEP, rtol=1e-11)


def test_hand_written_lstm_is_the_complex_step_along_a_direction():
    params, data = lstm_step.make_params(), lstm_step.make_data()
    rng = np.random.default_rng(3)
    direction = [rng.normal(size=array.shape) for array in params]
    moved = tuple(array + 1j * STEP * d for array, d in zip(params, direction, strict=True))
    expected = lstm_step.loss(np, lstm_step._sigmoid, moved, *data)
    value, gradient = lstm_step.value_and_gradient(params, *data)
    assert value == pytest.approx(expected.real, rel=1e-13)
    slope = sum(np.vdot(g, d) for g, d in zip(gradient, direction, strict=True))
    assert slope == pytest.approx(expected.imag / STEP, rel=1e-10)


def test_hand_written_mlp_is_the_central_difference_along_a_direction():
    params, (x, labels) = mlp_step.make_params(), mlp_step.make_batch()
    rng = np.random.default_rng(3)
    direction = [rng.normal(size=array.shape) for array in params]

    def composed(h):
        """The loss from its definition: minus the mean log-probability of the label."""
        w1, b1, w2, b2 = (array + h * d for array, d in zip(params, direction, strict=True))
        exps = np.exp(np.maximum(x @ w1 + b1, 0.0) @ w2 + b2)
        return -np.mean(np.log(exps[np.arange(len(labels)), labels] / exps.sum(axis=1)))

    value, gradient = mlp_step.value_and_gradient(params, x, labels)
    assert value == pytest.approx(composed(0.0), rel=1e-13)
    slope = sum(np.vdot(g, d) for g, d in zip(gradient, direction, strict=True))
    assert slope == pytest.approx((composed(1e-6) - composed(-1e-6)) / 2e-6, rel=1e-7)


def test_hand_written_scalar_network_is_the_central_difference_along_a_direction():
    params, points = np.array(scalar_moons.make_params()), scalar_moons.make_points()
    direction = np.random.default_rng(3).normal(size=params.size)

    def composed(h):
        return scalar_moons.loss(lambda x: max(x, 0.0), np.exp, np.log, params + h * direction, points)

    value, gradient = scalar_moons.value_and_gradient(params.tolist(), points)
    assert len(gradient) == 105
    assert value == pytest.approx(composed(0.0), rel=1e-13)
    assert np.dot(gradient, direction) == pytest.approx((composed(1e-7) - composed(-1e-7)) / 2e-7, rel=1e-6)


def test_epoch_by_hand_sees_every_training_row_and_lowers_the_loss():
    batches = digits_epoch.make_batches()
    assert [len(labels) for _, labels in batches] == [32] * 33 + [21]
    start = mlp_step.make_params()
    end = digits_epoch.WORKLOAD.builders[peers.HAND_WRITTEN]()()
    images, labels = (np.concatenate(parts) for parts in zip(*batches, strict=True))
    before, after = (mlp_step.value_and_gradient(params, images, labels)[0] for params in (start, end))
    assert before > 2.0
    assert after < 0.5 * before


QUICK_PEERS = [peer for peer in peers.PEERS if not peer.is_heavy and peer.name not in (peers.HAND_WRITTEN, peers.YARDSTICK)]
PAIRS = [(workload, peer) for workload in WORKLOADS for peer in QUICK_PEERS if peer.name in workload.builders]


@pytest.mark.parametrize(("workload", "peer"), PAIRS, ids=[f"{workload.name}-{peer.name}" for workload, peer in PAIRS])
def test_peer_agrees_with_the_hand_written_result(workload, peer):
    if not peers.is_installed(peer):
        pytest.skip(f"{peer.name} is not installed")
    peers.prepare(peer.name)
    expected = workload.builders[peers.HAND_WRITTEN]()()
    step = workload.builders[peer.name]()
    assert measure.disagreement(step(), expected, workload.tolerance) is None
    assert measure.disagreement(step(), expected, workload.tolerance) is None  # a step may be repeated


def test_every_workload_has_a_hand_written_form_and_a_name_of_its_own():
    assert all(peers.HAND_WRITTEN in workload.builders for workload in WORKLOADS)
    assert all(peers.FUNCGRAD in workload.builders for workload in WORKLOADS)
    assert all(set(workload.builders) <= set(peers.NAMES) for workload in WORKLOADS)
    assert len({workload.name for workload in WORKLOADS}) == len(WORKLOADS) == 18

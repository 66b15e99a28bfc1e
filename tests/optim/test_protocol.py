"""The protocol: purity, dtypes, structures, chains, and what is said of bad input."""

import copy

import numpy as np
import pytest

from funcgrad import optim, tree
from funcgrad.errors import InputTypeError, InputValueError, TreeError

OPTIMIZERS = {
    "identity": optim.identity(),
    "scale": optim.scale(-0.5),
    "schedule": optim.scale_by_schedule(optim.cosine_decay(1.0, 10)),
    "sgd": optim.sgd(0.1),
    "momentum": optim.sgd(0.1, 0.9),
    "nesterov": optim.sgd(0.1, 0.9, True),
    "adam": optim.adam(0.1),
    "nadam": optim.nadam(optim.constant(0.1)),
    "adamw": optim.adamw(0.1),
    "lion": optim.lion(0.1),
    "rmsprop": optim.rmsprop(0.1, momentum=0.9),
    "centered": optim.rmsprop(0.1, centered=True),
    "adagrad": optim.adagrad(0.1),
    "adagrad without eps": optim.adagrad(0.1, eps=0.0),
    "ema": optim.ema(0.9),
    "clip": optim.clip(0.5),
    "norm": optim.clip_by_global_norm(0.5),
    "decay": optim.add_decayed_weights(0.1),
    "numpy numbers": optim.chain(optim.trace(np.float64(0.9)), optim.scale_by_adam(np.float64(0.9)), optim.scale(np.float64(0.1))),
}
WITH_STATE = ("momentum", "nesterov", "adam", "nadam", "adamw", "lion", "rmsprop", "centered", "adagrad", "ema")


def snapshot(value):
    return copy.deepcopy(value)


def equal(one, another):
    return tree.structure(one) == tree.structure(another) and all(
        np.array_equal(a, b) for a, b in zip(tree.leaves(one), tree.leaves(another), strict=True)
    )


@pytest.mark.parametrize("name", OPTIMIZERS)
class TestEveryOptimizer:
    def test_nothing_is_changed_in_place(self, name):
        optimizer = OPTIMIZERS[name]
        rng = np.random.default_rng(0)
        params = {"w": rng.normal(size=(2, 3)), "b": [rng.normal(size=3), 0.5]}
        state = optimizer.init(params)
        for _ in range(3):
            grads = tree.map(lambda leaf: leaf * 0.3, params)
            before = snapshot((grads, state, params))
            for leaf in tree.leaves([grads, state, params]):
                if isinstance(leaf, np.ndarray):
                    leaf.flags.writeable = False
            updates, after = optimizer.update(grads, state, params)
            again, _ = optimizer.update(grads, state, params)
            assert equal(updates, again)
            moved = optim.apply_updates(params, updates)
            assert equal((grads, state, params), before)
            for leaf, old in zip(tree.leaves(moved), tree.leaves(params), strict=True):
                assert leaf is not old
            state, params = after, moved

    @pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.longdouble])
    def test_dtypes_are_kept(self, name, dtype):
        optimizer = OPTIMIZERS[name]
        params = {"a": np.ones(2, dtype), "b": np.array(1.0, dtype), "c": dtype(1.0), "d": 1.0}
        grads = tree.map(lambda leaf: 0.5 if type(leaf) is float else np.asarray(leaf) * dtype(0.5), params)
        state = optimizer.init(params)
        for _ in range(2):
            updates, state = optimizer.update(grads, state, params)
            params = optim.apply_updates(params, updates)
            for value in (updates, params):
                assert value["a"].dtype == value["b"].dtype == value["c"].dtype == dtype
                assert value["a"].shape == (2,)
                assert value["b"].shape == value["c"].shape == ()
                assert type(value["d"]) is float
        for leaf in tree.leaves(state):
            assert type(leaf) in (int, float) or leaf.dtype == (np.float32 if dtype is np.float16 else dtype)

    def test_structure_is_kept(self, name):
        optimizer = OPTIMIZERS[name]
        params = {"a": (np.ones(2), [0.5, None]), "b": np.zeros((0, 3))}
        updates, state = optimizer.update(params, optimizer.init(params), params)
        assert tree.structure(updates) == tree.structure(params)
        assert updates["b"].shape == (0, 3)
        assert tree.structure(state) == tree.structure(optimizer.init(params))
        assert tree.structure(optim.apply_updates(params, updates)) == tree.structure(params)

    def test_is_a_pair(self, name):
        init, update = OPTIMIZERS[name]
        updates, _ = update(grads=1.0, state=init(2.0), params=2.0)
        assert type(updates) is float


@pytest.mark.parametrize("name", sorted(set(OPTIMIZERS) - {"clip", "numpy numbers"}))
def test_complex_parameters(name):
    params = {"z": np.array([1 + 2j, -1j], np.complex64), "p": 1j}
    optimizer = OPTIMIZERS[name]
    state = optimizer.init(params)
    for _ in range(2):
        updates, state = optimizer.update({"z": params["z"] * np.complex64(0.5), "p": 0.5j}, state, params)
    assert updates["z"].dtype == np.complex64
    assert updates["z"].shape == (2,)
    assert type(updates["p"]) is complex
    assert type(optim.apply_updates(params, updates)["p"]) is complex


def test_complex_adam_has_one_step_size_for_both_parts():
    optimizer = optim.adam(0.1, eps=0.0)
    updates, state = optimizer.update(np.array([3 + 4j]), optimizer.init(np.zeros(1, complex)))
    np.testing.assert_allclose(updates, [-0.1 * (0.6 + 0.8j)], rtol=1e-12)
    assert state[0].nu.dtype == np.float64


def test_integers_as_python_numbers_are_real():
    optimizer = optim.adam(0.1)
    updates, _ = optimizer.update(2, optimizer.init(3))
    assert type(updates) is float
    assert optim.apply_updates(3, updates) == pytest.approx(2.9)
    assert optim.apply_updates(3.0, np.float64(1.0)) == 4.0
    assert type(optim.apply_updates(3.0, np.float64(1.0))) is float


def test_a_float32_network_stays_float32_with_schedules_of_numpy_numbers():
    optimizer = optim.adam(lambda count: np.float64(0.1) / (1 + count))
    params = np.ones(3, np.float32)
    updates, _ = optimizer.update(params, optimizer.init(params))
    assert updates.dtype == np.float32


def test_chain_nests_and_counts():
    inner = optim.chain(optim.scale(2.0), optim.scale_by_schedule(lambda count: float(count + 1)))
    outer = optim.chain(inner, optim.scale(10.0))
    state = outer.init(1.0)
    first, state = outer.update(1.0, state)
    second, state = outer.update(1.0, state)
    assert (first, second) == (20.0, 40.0)
    assert state == ((optim.EmptyState(), optim.CountState(2)), optim.EmptyState())
    assert optim.chain().update(3.0, ()) == (3.0, ())


def test_learning_rate_none_and_sign():
    assert optim.scale_by_learning_rate(None).update(3.0, optim.EmptyState())[0] == 3.0
    assert optim.scale_by_learning_rate(2.0, flip_sign=False).update(3.0, optim.EmptyState())[0] == 6.0


class TestBadInput:
    @pytest.mark.parametrize("name", WITH_STATE)
    def test_gradients_of_another_structure(self, name):
        optimizer = OPTIMIZERS[name]
        params = {"w": [1.0, np.ones(2)], "b": 2.0}
        state = optimizer.init(params)
        with pytest.raises(
            TreeError, match=r"gradients do not have the structure of the \w+: at \['w'\]: wanted \[\*, \*\], got \(\*, \*\)"
        ):
            optimizer.update({"w": (1.0, np.ones(2)), "b": 2.0}, state, params)
        with pytest.raises(TreeError, match=r"at the root: wanted {'b': \*, 'w': \.\.\.}, got {'w': \.\.\.}"):
            optimizer.update({"w": [1.0, np.ones(2)]}, state, params)

    @pytest.mark.parametrize("name", WITH_STATE)
    def test_gradients_of_another_shape(self, name):
        optimizer = OPTIMIZERS[name]
        same = np.ones(2)
        params = {"w": [same, same]}
        state = optimizer.init(params)
        for wrong, shape in ((np.ones(3), r"\(3,\)"), (np.ones((1, 2)), r"\(1, 2\)"), (1.0, r"\(\)"), (np.float64(1.0), r"\(\)")):
            with pytest.raises(InputValueError, match=rf"gradients at \['w'\]\[1\] have shape {shape}, wanted \(2,\)"):
                optimizer.update({"w": [same, wrong]}, state, params)
        with pytest.raises(InputValueError, match=r"gradients at the root have shape \(2,\), wanted \(\)"):
            optimizer.update(np.ones(2), optimizer.init(1.0), 1.0)

    @pytest.mark.parametrize("name", WITH_STATE)
    @pytest.mark.parametrize("leaf", [np.arange(3), np.array(["a"]), np.array([None]), "text", True, np.bool_(True)])
    def test_parameters_that_cannot_be_learned(self, name, leaf):
        if name in ("identity", "adamw"):
            name = "adam"
        with pytest.raises(InputTypeError, match=r"init: the parameter at \['a'\]\[0\] is of type .*wanted real or complex"):
            OPTIMIZERS[name].init({"a": [leaf]})

    @pytest.mark.parametrize("name", sorted(set(OPTIMIZERS) - {"identity"}))
    @pytest.mark.parametrize(
        "leaf", [np.arange(3), np.arange(3, dtype=np.uint8), np.ones(3, bool), np.array(["a"] * 3), np.array([1.0] * 3, object)]
    )
    def test_gradients_that_are_not_floating_point(self, name, leaf):
        optimizer = OPTIMIZERS[name]
        params = {"a": [1.0, np.ones(3)]}
        state = optimizer.init(params)
        with pytest.raises(
            InputTypeError, match=rf"gradient at \['a'\]\[1\] is of type {leaf.dtype}; wanted real or complex.*astype\(float\)"
        ):
            optimizer.update({"a": [1.0, leaf]}, state, params)
        for number in (np.int8(1), np.bool_(True), "text", True):
            with pytest.raises(
                InputTypeError, match=rf"gradient at \['a'\]\[0\] is of type {getattr(number, 'dtype', type(number).__name__)}"
            ):
                optimizer.update({"a": [number, np.ones(3)]}, state, params)

    @pytest.mark.parametrize("name", sorted(OPTIMIZERS))
    def test_parameters_that_are_not_floating_point(self, name):
        with pytest.raises(InputTypeError, match=r"init: the parameter at \['a'\]\[0\] is of type int32; wanted real or complex"):
            OPTIMIZERS[name].init({"a": [np.arange(3, dtype=np.int32)]})

    def test_weights_that_are_not_floating_point(self):
        decay = optim.add_decayed_weights(0.1)
        with pytest.raises(InputTypeError, match=r"parameter at \['a'\] is of type int8"):
            decay.update({"a": np.ones(2)}, optim.EmptyState(), {"a": np.ones(2, np.int8)})

    @pytest.mark.parametrize("name", sorted(OPTIMIZERS))
    def test_python_ints_are_floats(self, name):
        optimizer = OPTIMIZERS[name]
        for gradient in (3, -7, 10**200):
            if gradient > 10**100 and name in ("momentum", "identity"):
                continue
            with np.errstate(over="ignore", invalid="ignore"):
                found, state = optimizer.update([gradient], optimizer.init([2]), [2])
                wanted, wanted_state = optimizer.update([float(gradient)], optimizer.init([2.0]), [2.0])
            np.testing.assert_equal(found, wanted)
            np.testing.assert_equal(tree.leaves(state), tree.leaves(wanted_state))

    @pytest.mark.parametrize("name", sorted(set(OPTIMIZERS) - {"numpy numbers"}))
    @pytest.mark.parametrize("other", sorted(set(OPTIMIZERS) - {"numpy numbers"}))
    def test_states_of_another_optimizer(self, name, other):
        params = {"w": np.ones(2), "b": 1.0}
        state = OPTIMIZERS[other].init(params)
        own = tree.map(type, OPTIMIZERS[name].init(params), is_leaf=lambda node: hasattr(node, "_fields"))
        if own == tree.map(type, state, is_leaf=lambda node: hasattr(node, "_fields")):
            updates, _ = OPTIMIZERS[name].update(params, state, params)
            assert tree.structure(updates) == tree.structure(params)
        else:
            with pytest.raises(InputValueError, match=r"the state is of type \w+, wanted \w+State: give|wanted a state of \d states.*got"):
                OPTIMIZERS[name].update(params, state, params)

    def test_messages_about_states_name_both(self):
        adam, sgd, momentum, adagrad = optim.adam(0.1), optim.sgd(0.1), optim.sgd(0.1, 0.9), optim.adagrad(0.1)
        for optimizer, state, message in (
            (
                adam,
                momentum.init(1.0),
                "^adam: the state is of type TraceState, wanted ScaleByAdamState: give the state that this optimizer's init",
            ),
            (adam, adagrad.init(1.0), "^adam: the state is of type ScaleByRssState, wanted ScaleByAdamState"),
            (sgd, adam.init(1.0), "^sgd: the state is of type ScaleByAdamState, wanted EmptyState"),
            (optim.sgd(optim.constant(0.1)), sgd.init(1.0), "^sgd: the state is of type EmptyState, wanted CountState"),
            (optim.scale_by_adam(), adam.init(1.0), "^adam: the state is of type tuple, wanted ScaleByAdamState"),
            (adam, optim.scale_by_rms().init(1.0), "chain: wanted a state of 2 states, one a transformation, got a ScaleByRmsState"),
            (adam, None, "chain: wanted a state of 2 states, one a transformation, got a NoneType"),
        ):
            with pytest.raises(InputValueError, match=message):
                optimizer.update(1.0, state)

    def test_apply_updates(self):
        with pytest.raises(TreeError, match=r"updates do not have the structure of the parameters: at \['a'\]: wanted \[\*\], got a leaf"):
            optim.apply_updates({"a": [1.0]}, {"a": 1.0})
        with pytest.raises(InputValueError, match=r"updates at \['a'\] have shape \(2,\), wanted \(\)"):
            optim.apply_updates({"a": 1.0}, {"a": np.ones(2)})
        with pytest.raises(InputTypeError, match=r"parameter at \['a'\] is of type int64; wanted real or complex"):
            optim.apply_updates({"a": np.arange(2, dtype=np.int64)}, {"a": np.ones(2)})
        with pytest.raises(InputTypeError, match="parameter at the root is of type bool"):
            optim.apply_updates(True, 1.0)
        with pytest.raises(InputTypeError, match=r"update at \['a'\] is of type int64; wanted real or complex"):
            optim.apply_updates({"a": np.ones(2)}, {"a": np.arange(2, dtype=np.int64)})
        assert optim.apply_updates({"a": 1.0}, {"a": 2}) == {"a": 3.0}

    def test_weight_decay_needs_parameters(self):
        for optimizer in (optim.adamw(0.1), optim.lion(0.1), optim.add_decayed_weights(0.1)):
            with pytest.raises(InputValueError, match=r"update\(grads, state, params\)"):
                optimizer.update(1.0, optimizer.init(1.0))

    def test_mask_of_another_structure(self):
        decay = optim.add_decayed_weights(0.1, mask={"a": True})
        with pytest.raises(TreeError, match=r"beside the mask, does not fit: at the root: wanted {'a': \*}, got {'a': \*, 'b': \*}"):
            decay.update({"a": 1.0, "b": 1.0}, decay.init(None), {"a": 1.0, "b": 1.0})

    def test_chains(self):
        with pytest.raises(InputTypeError, match=r"argument 2 is 0\.1; wanted an Optimizer"):
            optim.chain(optim.scale(1.0), 0.1)
        chain = optim.chain(optim.scale(1.0), optim.trace(0.9))
        with pytest.raises(InputValueError, match="wanted a state of 2 states, one a transformation, got 1 states"):
            chain.update(1.0, (optim.EmptyState(),))
        with pytest.raises(InputValueError, match="got a float: make it with init"):
            chain.update(1.0, 1.0)


def test_public_names():
    for name in optim.__all__:
        assert hasattr(optim, name), name

"""What is said of learning rates and other hyperparameters that are no good, and which ones are."""

import math

import numpy as np
import pytest

from funcgrad import grad, hvp, jvp, optim
from funcgrad.errors import InputTypeError, InputValueError

NAMED = ("sgd", "adam", "nadam", "adamw", "lion", "rmsprop", "adagrad")


class Halving:
    def __call__(self, count):
        return 0.5**count


def called_bad(result):
    def bad_schedule(count):
        return result

    return bad_schedule


@pytest.mark.parametrize("name", NAMED)
class TestLearningRates:
    @pytest.mark.parametrize(
        "rate", [None, "a", b"a", [0.1], (0.1,), {"rate": 0.1}, True, np.bool_(False), 1j, np.complex64(1), object(), np.array("a")]
    )
    def test_that_are_no_numbers(self, name, rate):
        with pytest.raises(InputTypeError, match=f"^{name}: learning_rate is .*wanted a (real )?number"):
            getattr(optim, name)(rate)

    @pytest.mark.parametrize("rate", [-0.1, -1, math.nan, math.inf, -math.inf, np.float32(-1.0), np.array(np.nan)])
    def test_that_are_out_of_range(self, name, rate):
        with pytest.raises(InputValueError, match=rf"^{name}: learning_rate is (nan|-?inf|-\d.*); wanted a finite number, at least 0"):
            getattr(optim, name)(rate)

    def test_that_have_axes(self, name):
        with pytest.raises(InputValueError, match=rf"^{name}: learning_rate has shape \(2,\); wanted one number"):
            getattr(optim, name)(np.array([0.1, 0.2]))

    @pytest.mark.parametrize(
        "rate", [0.5, np.float32(0.5), np.float64(0.5), np.longdouble(0.5), np.array(0.5), lambda count: 0.5, lambda count: np.array(0.5)]
    )
    def test_that_are_good(self, name, rate):
        optimizer, wanted = getattr(optim, name)(rate), getattr(optim, name)(0.5)
        found = optimizer.update(2.0, optimizer.init(1.0), 1.0)[0]
        assert type(found) is float
        assert found == wanted.update(2.0, wanted.init(1.0), 1.0)[0]
        for zero in (0, 0.0, np.int64(0)):
            still = getattr(optim, name)(zero)
            assert still.update(2.0, still.init(1.0), 1.0)[0] == 0.0

    @pytest.mark.parametrize(
        ("result", "error", "message"),
        [
            (None, InputTypeError, "is None, of type NoneType; wanted a real number"),
            ("fast", InputTypeError, "is 'fast', of type str; wanted a real number"),
            ([0.1], InputTypeError, r"is \[0\.1\], of type list; wanted a real number"),
            (1j, InputTypeError, "is 1j, of type complex; wanted a real number"),
            (math.nan, InputValueError, "is nan; wanted a number"),
            (np.ones(2), InputValueError, r"has shape \(2,\); wanted one number"),
        ],
    )
    def test_that_schedules_give_and_are_no_numbers(self, name, result, error, message):
        optimizer = getattr(optim, name)(called_bad(result))
        with pytest.raises(
            error, match=rf"^{name}: the learning rate that the schedule called_bad.<locals>.bad_schedule gives at step 0 {message}"
        ):
            optimizer.update(1.0, optimizer.init(1.0), 1.0)

    def test_that_are_tracers(self, name):
        def updated(rate):
            optimizer = getattr(optim, name)(rate)
            return optimizer.update(2.0, optimizer.init(1.0), 1.0)[0]

        slope = grad(updated)(0.3)
        assert slope == pytest.approx(updated(1.0), rel=1e-14)  # an update is linear in the rate
        assert jvp(updated, (0.3,), (2.0,))[1] == pytest.approx(2.0 * slope, rel=1e-14)
        assert hvp(lambda rate: updated(rate) ** 2)(0.3, 1.0) == pytest.approx(2.0 * slope**2, rel=1e-13)
        assert grad(lambda rate: getattr(optim, name)(lambda count: rate * 2).update(2.0, started(name), 1.0)[0])(0.3) == pytest.approx(
            2 * slope
        )
        with pytest.raises(InputValueError, match=r"learning_rate has shape \(2,\)"):
            grad(updated)(np.ones(2))


def started(name):
    return getattr(optim, name)(lambda count: 1.0).init(1.0)


def test_schedules_without_a_name_are_shown():
    optimizer = optim.sgd(Halving())
    state = optimizer.init(8.0)
    for wanted in (-8.0, -4.0, -2.0):
        update, state = optimizer.update(8.0, state)
        assert update == wanted

    class Nothing:
        def __call__(self, count):
            return None

        def __repr__(self):
            return "Nothing()"

    with pytest.raises(InputTypeError, match=r"the schedule Nothing\(\) gives at step 3 is None"):
        optim.sgd(Nothing()).update(8.0, state)


def test_schedules_elsewhere():
    with pytest.raises(InputTypeError, match=r"^scale_by_schedule: the factor that the schedule .*bad_schedule gives at step 0 is None"):
        optim.scale_by_schedule(called_bad(None)).update(1.0, optim.CountState(0))
    with pytest.raises(InputTypeError, match=r"^scale_by_schedule: step_size_fn is 0\.1; wanted a function .*use scale"):
        optim.scale_by_schedule(0.1)
    with pytest.raises(
        InputTypeError, match=r"^add_decayed_weights: the weight decay that the schedule .*bad_schedule gives at step 4 is 'a'"
    ):
        optim.add_decayed_weights(called_bad("a")).update(1.0, optim.CountState(4), 1.0)


def test_schedules_may_step_below_zero():
    assert optim.sgd(lambda count: -0.5).update(2.0, (optim.EmptyState(), optim.CountState(0)))[0] == 1.0


@pytest.mark.parametrize("bad", [None, "a", True, 1j, [0.9]])
@pytest.mark.parametrize(
    ("make", "argument"),
    [
        (optim.scale, "step_size"),
        (optim.trace, "decay"),
        (optim.ema, "decay"),
        (optim.clip, "max_delta"),
        (optim.clip_by_global_norm, "max_norm"),
        (optim.add_decayed_weights, "weight_decay"),
        (optim.scale_by_adam, "b1"),
        (optim.scale_by_adam, "b2"),
        (optim.scale_by_adam, "eps"),
        (optim.scale_by_adam, "eps_root"),
        (optim.scale_by_lion, "b1"),
        (optim.scale_by_lion, "b2"),
        (optim.scale_by_rms, "decay"),
        (optim.scale_by_rms, "eps"),
        (optim.scale_by_rms, "initial_scale"),
        (optim.scale_by_stddev, "decay"),
        (optim.scale_by_rss, "initial_accumulator_value"),
        (optim.scale_by_rss, "eps"),
    ],
)
def test_other_hyperparameters(make, argument, bad):
    with pytest.raises(InputTypeError, match=rf"^\w+: {argument} is .*wanted a (real )?number"):
        make(**{argument: bad})
    with pytest.raises(InputValueError, match=rf"^\w+: {argument} is nan; wanted a"):
        make(**{argument: math.nan})


def test_bounds_are_not_negative():
    for make in (optim.clip, optim.clip_by_global_norm, optim.add_decayed_weights):
        with pytest.raises(InputValueError, match=r"is -1\.0; wanted a .*number, at least 0"):
            make(-1)
    with pytest.raises(InputValueError, match=r"initial_accumulator_value is -1\.0; wanted a number, at least 0"):
        optim.adagrad(0.1, initial_accumulator_value=-1)

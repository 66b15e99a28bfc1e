"""Options are checked where they are read, and every example explains its own."""

import subprocess
import sys
from pathlib import Path

import pytest

from examples import SUMMARIES, digits, engine, extend, modes, moons, options, tensor, xor
from examples import __main__ as both

ROOT = Path(__file__).parents[2]
TRAINING = ["--epochs", "--learning-rate", "--seed", "--optimizer", "--schedule", "--out"]
HELP = {
    "engine": (engine.main, ["--against", "--out"]),
    "tensor": (tensor.main, ["--seed", "--out"]),
    "xor": (xor.main, TRAINING),
    "moons": (moons.main, TRAINING),
    "digits": (digits.main, [*TRAINING, "--data"]),
    "modes": (modes.main, ["--largest", "--seed", "--out"]),
    "extend": (extend.main, ["--size", "--seed", "--out"]),
    "": (both.main, ["--epochs", "--out", *(f"\n  {name} " for name in SUMMARIES)]),
}


@pytest.mark.parametrize("name", HELP)
def test_help_tells_the_options(capsys, name):
    main, wanted = HELP[name]
    with pytest.raises(SystemExit) as left:
        main(["--help"])
    text = capsys.readouterr().out
    assert left.value.code == 0
    assert text.startswith(f"usage: python -m examples{'.' + name if name else ''} ")
    for option in wanted:
        assert option in text


def test_summaries_are_of_every_example():
    names = {path.stem for path in (ROOT / "examples").glob("[!_]*.py") if "\ndef main(" in path.read_text(encoding="utf-8")}
    assert set(SUMMARIES) == names == set(HELP) - {""}


@pytest.mark.parametrize(
    ("argv", "wanted"),
    [
        (["--epochs", "0"], "got '0', wanted a whole number of at least 1"),
        (["--epochs", "2.5"], "got '2.5', wanted a whole number of at least 1"),
        (["--seed", "-1"], "got '-1', wanted a whole number from 0 to 4294967295"),
        (["--learning-rate", "0"], "got '0', wanted a finite number above 0"),
        (["--learning-rate", "nan"], "got 'nan', wanted a finite number above 0"),
        (["--learning-rate", "fast"], "got 'fast', wanted a number"),
        (["--weight-decay", "-0.1"], "got '-0.1', wanted a finite number of at least 0"),
        (["--optimizer", "magic"], "invalid choice: 'magic'"),
        (["--out", __file__], "which is a file, wanted a folder"),
        (["--weight-decay", "0.1"], "has no effect with --optimizer sgd; leave it out or take --optimizer adamw"),
        (["--weight-decay", "0", "--optimizer", "adam"], "has no effect with --optimizer adam"),
    ],
)
def test_bad_options_are_refused(capsys, argv, wanted):
    with pytest.raises(SystemExit) as left:
        xor.main(argv)
    assert left.value.code == 2
    assert wanted in capsys.readouterr().err


@pytest.mark.parametrize("main", [xor.main, moons.main, digits.main])
def test_option_without_effect_is_refused(capsys, monkeypatch, main):
    monkeypatch.setattr(options, "choose_optimizer", None)  # nothing is to be trained
    with pytest.raises(SystemExit) as left:
        main(["--weight-decay", "0.1"])
    assert left.value.code == 2
    assert "--weight-decay: has no effect with --optimizer sgd" in capsys.readouterr().err


@pytest.mark.parametrize(("argv", "decay"), [([], 0.01), (["--weight-decay", "0.5"], 0.5)])
def test_weight_decay_of_adamw(argv, decay):
    parser = options.make_parser("digits", "")
    options.add_training(parser, epochs=1, plain_rate=0.2, adaptive_rate=0.003)
    given = options.parse_training(parser, ["--optimizer", "adamw", "--learning-rate", "0.1", *argv])
    optimizer = options.choose_optimizer(given, steps=10)
    updates, _ = optimizer.update(0.0, optimizer.init(3.0), 3.0)
    assert updates == pytest.approx(-0.1 * decay * 3.0, rel=1e-12)  # with no gradient the decay is all that is left


@pytest.mark.parametrize(("name", "rate"), [("sgd", 0.2), ("momentum", 0.02), ("adam", 0.003)])
def test_rate_suits_the_optimizer(name, rate):
    parser = options.make_parser("digits", "")
    options.add_training(parser, epochs=1, plain_rate=0.2, adaptive_rate=0.003)
    optimizer = options.choose_optimizer(parser.parse_args(["--optimizer", name]), steps=10)
    updates, _ = optimizer.update(1.0, optimizer.init(0.0), 0.0)
    # The first step of each is the rate times the gradient; adam's is the rate times its sign.
    assert updates == pytest.approx(-rate, rel=1e-6)


@pytest.mark.parametrize(("schedule", "last"), [("constant", 1.0), ("cosine", 0.0), ("exponential", 0.01)])
def test_schedules_end_with_the_run(schedule, last):
    optimizer = options.make_optimizer("sgd", 0.5, schedule=schedule, steps=10)
    state = optimizer.init(0.0)
    steps = []
    for _ in range(11):
        update, state = optimizer.update(1.0, state, 0.0)
        steps.append(-update / 0.5)
    assert steps[0] == pytest.approx(1.0)
    assert steps[10] == pytest.approx(last, abs=1e-12)


def test_main_job_is_moons_and_then_digits(tmp_path):
    command = [sys.executable, "-m", "examples", "--epochs", "1", "--out", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert "moons: " not in done.stderr  # no progress bar: this output is no terminal
    assert done.stdout.index("Moons, 2-8-8-1") < done.stdout.index("Digits, 64-128-10")


def test_main_job_does_not_begin_without_the_digits(monkeypatch, tmp_path):
    missing = tmp_path / "digits.npz"
    monkeypatch.setattr(both.digits.load_or_exit, "__defaults__", (missing,))
    monkeypatch.setattr(both.moons, "main", lambda argv: pytest.fail("moons ran, and digits cannot"))
    with pytest.raises(SystemExit, match="the digits file is missing"):
        both.main(["--epochs", "1", "--out", str(tmp_path)])


def test_moons_trains_with_adam_once(capsys, tmp_path):
    moons.main(["--epochs", "2", "--optimizer", "adam", "--out", str(tmp_path)])
    printed = capsys.readouterr().out
    assert printed.count("arrays, adam") == printed.count("Python floats, adam") == 1

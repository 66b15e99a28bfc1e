"""The command line, the reports and the targets."""

import json

import pytest

from benchmarks import cli, measure, memory, peers, report, targets
from benchmarks.measure import Measurement, Timing
from benchmarks.memory import Usage
from benchmarks.workloads import WORKLOADS, digits_epoch


def measured(workload, **microseconds):
    timings = {name.replace("_", "-") if name == "hand_written" else name: Timing(0.0, (value,), 1) for name, value in microseconds.items()}
    return Measurement(workload, timings)


def test_targets_are_met_missed_or_not_measured():
    measurements = {
        "mlp_step": measured("mlp_step", hand_written=50.0, funcgrad=80.0, autograd=400.0, mygrad=159.0),
        "scalar1000": measured("scalar1000", funcgrad=10.0, autograd=61.0),
        "scalar_moons": measured("scalar_moons", funcgrad=10.0, engine=79.0),
    }
    usages = {"memory_tanh50": Usage("memory_tanh50", {"funcgrad": 411.0}), "memory_growth": Usage("memory_growth", {"funcgrad": 0.0})}
    outcomes = {verdict.wording: (verdict.outcome, verdict.measured) for verdict in targets.judge(measurements, usages)}
    assert outcomes["mlp_step: at most 1.7 x hand-written"] == ("met", pytest.approx(1.6))
    assert outcomes["mlp_step: at most half of the best NumPy peer's"] == ("not met", pytest.approx(80.0 / 159.0))
    assert outcomes["mlp_step: at most half of PyTorch's"] == ("not measured", None)
    assert outcomes["scalar1000: at most a sixth of autograd's"] == ("met", pytest.approx(10.0 / 61.0))
    assert outcomes["scalar_moons: at most an eighth of the closure-per-node engine's"] == ("not met", pytest.approx(10.0 / 79.0))
    assert outcomes["50 x tanh on 1e6 numbers: gradient within 410 MB"] == ("not met", 411.0)
    assert outcomes["2,000 small gradients: no growth"] == ("met", 0.0)
    assert outcomes["chain200: at most 0.4 of PyTorch's"] == ("not measured", None)


def test_targets_name_workloads_cases_and_peers_that_exist():
    builders = {workload.name: workload.builders for workload in WORKLOADS}
    for target in targets.RATIOS:
        assert {target.of, *target.against} <= set(builders[target.workload])
    assert {target.case for target in targets.MEMORY} == {case.name for case in memory.CASES}


def test_run_prints_tables_and_writes_json(capsys, tmp_path):
    path = tmp_path / "result.json"
    assert cli.main(["--quick", "--only", "jacobian50", "--peers", "hand-written", "--json", str(path)]) == 0
    printed = capsys.readouterr().out
    assert "jacobian50: Jacobian of W2 @ tanh(W1 @ x)" in printed
    assert "hand-written NumPy" in printed
    assert "targets" not in printed  # a smoke run says nothing about them
    document = json.loads(path.read_text(encoding="utf-8"))
    assert list(document["workloads"]) == ["jacobian50"]
    result = document["workloads"]["jacobian50"]
    assert result["microseconds"]["hand-written"] == sorted(result["rounds"]["hand-written"])[1] > 0.0
    assert len(result["rounds"]["hand-written"]) == measure.QUICK.rounds
    assert document["machine"]["Python"]
    assert {target["outcome"] for target in document["targets"]} == {"not measured"}


def test_quick_run_prints_no_targets_though_it_measured_one(capsys):
    assert cli.main(["--quick", "--only", "chain200", "--peers", "funcgrad"]) == 0
    printed = capsys.readouterr().out
    assert "chain200: 200 x" in printed
    assert "at most" not in printed


def test_run_prints_the_targets_that_it_measured(capsys, monkeypatch):
    monkeypatch.setattr(measure, "FULL", measure.QUICK)
    assert cli.main(["--only", "chain200", "--peers", "funcgrad"]) == 0
    lines = capsys.readouterr().out.split("targets\n")[1].strip().splitlines()
    assert [line.strip().split("  ")[0] for line in lines] == ["target", "chain200: at most 2.3 x hand-written"]


def test_run_that_measured_no_target_prints_no_table_of_them(capsys, monkeypatch):
    monkeypatch.setattr(measure, "FULL", measure.QUICK)
    assert cli.main(["--only", "jacobian50", "--peers", "hand-written"]) == 0
    assert "targets" not in capsys.readouterr().out


def test_failure_is_printed_and_sets_the_exit_status(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(digits_epoch, "DIGITS", tmp_path / "digits.npz")
    assert cli.main(["--quick", "--only", "digits_epoch", "--peers", "hand-written"]) == 1
    assert "FAILED: FileNotFoundError" in capsys.readouterr().out


def test_markdown_is_all_that_is_printed(capsys):
    assert cli.main(["--quick", "--only", "rosen100_hvp", "--peers", "hand-written", "--markdown"]) == 0
    lines = capsys.readouterr().out.strip().splitlines()
    assert lines[0].startswith("Microseconds")
    assert lines[2].startswith("| workload | hand-written NumPy | ")
    assert any(line.startswith("| `rosen100_hvp` | ") for line in lines)
    assert lines[-1].startswith("Measured on ")


def test_markdown_has_a_column_for_each_peer_and_a_dash_where_nothing_was_measured():
    run = report.Run(
        {"processor": "Abacus", "system": "Linux", "Python": "3.11"},
        {
            "chain200": measured("chain200", hand_written=100.0, funcgrad=150.0, torch=4567.0),
            "scalar_moons": measured("scalar_moons", hand_written=1.0, funcgrad=2.0),
        },
        {"memory_tanh50": Usage("memory_tanh50", {"funcgrad": 401.2, "torch": 407.0})},
    )
    lines = report.markdown(run).splitlines()
    title = "| workload | hand-written NumPy | funcgrad (plain numpy calls) | funcgrad / hand-written | PyTorch eager |"
    assert lines[2:6] == [
        title,
        "|---|---:|---:|---:|---:|",
        "| `chain200` | 100 | 150 | 1.5 | 4,570 |",
        "| `scalar_moons` | 1 | 2 | 2 | - |",
    ]
    assert "| peak of the gradient of 50 x tanh on 1e6 numbers | 401 | 407 |" in lines
    assert lines[-1] == "Measured on Abacus, Linux, Python 3.11."


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--only", "nothing"], "no workload begins with 'nothing'"),
        (["--peers", "funcgrad,abacus"], "got abacus; choose from hand-written"),
    ],
)
def test_unknown_names_are_refused(capsys, arguments, said):
    with pytest.raises(SystemExit) as stopped:
        cli.main(arguments)
    assert stopped.value.code == 2
    assert said in capsys.readouterr().err


def test_peer_that_is_not_installed_is_refused_with_the_command_that_installs_it(capsys, monkeypatch):
    monkeypatch.setattr(peers, "is_installed", lambda peer: peer.name != peers.TORCH)
    with pytest.raises(SystemExit):
        cli.main(["--peers", "torch"])
    assert 'torch is not installed; pip install -e ".[bench]"' in capsys.readouterr().err


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (0.00123456, "0.00123"),
        (0.5, "0.5"),
        (1.7, "1.7"),
        (12.345, "12.3"),
        (99.96, "100"),
        (1234.5, "1,230"),
        (7.8e6, "7,800,000"),
    ],
)
def test_numbers_have_three_digits(value, text):
    assert report.number(value) == text

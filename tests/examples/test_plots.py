"""Pictures are saved where asked; without matplotlib every example goes on and says so in one line."""

import sys

import numpy as np
import pytest

from examples import __main__ as both
from examples import digits, engine, extend, modes, moons, plots, tensor, xor
from examples.moons import Trained

RUNS = {
    "engine": (engine.main, [], ["engine-rules"]),
    "tensor": (tensor.main, [], ["tensor-errors"]),
    "xor": (xor.main, ["--epochs", "3"], ["xor-answers", "xor-loss"]),
    "moons": (moons.main, ["--epochs", "2"], ["moons-boundary", "moons-loss"]),
    "digits": (digits.main, ["--epochs", "1"], ["digits-curves", "digits-misread", "digits-weights"]),
    "modes": (modes.main, ["--largest", "5"], ["modes"]),
}
if extend.spsolve is not None:  # SciPy is installed
    RUNS["extend"] = (extend.main, ["--size", "11"], ["extend-plate"])


@pytest.mark.parametrize("name", RUNS)
def test_pictures_are_saved_and_named(run, tmp_path, name):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    main, argv, pictures = RUNS[name]
    folder = tmp_path / "new" / "folder"
    printed = run(main, [*argv, "--out", str(folder)])
    assert sorted(path.name for path in folder.iterdir()) == [f"{picture}.png" for picture in pictures]
    for path in folder.iterdir():
        assert f"saved {path}" in printed
        assert path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


@pytest.mark.parametrize("name", RUNS)
def test_without_matplotlib_a_run_goes_on(run, tmp_path, monkeypatch, name):
    for module in ("matplotlib", "matplotlib.figure", "matplotlib.backends.backend_agg"):
        monkeypatch.setitem(sys.modules, module, None)
    main, argv, _ = RUNS[name]
    printed = run(main, [*argv, "--out", str(tmp_path / "out")])
    assert printed[-1].startswith("No pictures: matplotlib is not installed")
    assert sum("matplotlib" in line for line in printed) == 1
    assert not (tmp_path / "out").exists()


def test_pictures_show_something(tmp_path):
    image = pytest.importorskip("matplotlib.image", reason="matplotlib is not installed")
    (file,) = plots.save(tmp_path, {"loss": lambda figure: xor.draw_loss(figure, [1.0, 0.1, 0.01])})
    pixels = image.imread(file)
    assert pixels.shape[:2] == (675, 1050)
    assert len(np.unique(pixels[:, :, 0])) > 20


def test_folder_that_cannot_be_made(tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    (tmp_path / "file").write_text("")
    with pytest.raises(SystemExit, match=r"error: cannot save the picture .*loss\.png.* --out"):
        plots.save(tmp_path / "file" / "folder", {"loss": lambda figure: xor.draw_loss(figure, [1.0, 0.1])})


@pytest.fixture
def figure():
    figures = pytest.importorskip("matplotlib.figure", reason="matplotlib is not installed")
    return figures.Figure()


def whole(axis):
    return all(float(tick).is_integer() for tick in axis.get_ticklocs())


@pytest.mark.parametrize("losses", [[1.766174], [1.8, 1.7], [0.5, 0.5, 0.5], [0.1] * 12])
def test_short_run_is_seen(figure, losses):
    xor.draw_loss(figure, losses)
    (axes,) = figure.axes
    (line,) = axes.lines
    assert line.get_marker() == "o"
    assert whole(axes.xaxis)
    low, high = axes.get_ylim()
    assert low < min(losses) <= max(losses) < high
    ticks = [*axes.yaxis.get_majorticklocs(), *axes.yaxis.get_minorticklocs()]
    assert sum(low <= tick <= high for tick in ticks) >= 2


def test_long_run_is_a_line(figure):
    xor.draw_loss(figure, np.geomspace(1.0, 0.01, 100).tolist())
    assert figure.axes[0].lines[0].get_marker() == ""


def test_runs_of_a_single_step_are_all_seen(figure):
    losses = [0.7159, 0.7159 + 1e-16, 0.7159]
    moons.draw_loss(figure, {str(place): Trained([value], [0.5], [], 0.0) for place, value in enumerate(losses)})
    (axes,) = figure.axes
    sizes = [line.get_markersize() for line in axes.lines]
    assert sorted(set(sizes), reverse=True) == sizes  # the later ones are drawn over the earlier
    assert all(line.get_marker() == "o" for line in axes.lines)
    assert whole(axes.xaxis)
    assert axes.get_ylim()[1] >= 1.9 * axes.get_ylim()[0]


def test_error_above_the_bound_is_inside_the_picture(figure):
    plots.draw_errors(figure, {"a": 0.0, "b": 1e-3}, "title", "leaf", "error")
    (axes,) = figure.axes
    low, high = axes.get_ylim()
    assert [bar.get_height() for bar in axes.patches] == [low, 1e-3]
    assert high > 1e-3


MAINS = {"": both.main, **{name: main for name, (main, _, _) in RUNS.items()}}


@pytest.mark.parametrize("name", MAINS)
def test_bad_folder_is_refused_before_the_work(capsys, tmp_path, name):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    (tmp_path / "file").write_text("")
    with pytest.raises(SystemExit) as left:
        MAINS[name](["--out", str(tmp_path / "file" / "folder")])
    message = str(left.value.code)
    assert message.startswith(f"error: cannot save pictures in {tmp_path / 'file' / 'folder'}: ")
    assert message.endswith(". Choose another folder with --out.")
    assert "\n" not in message
    assert capsys.readouterr().out == ""


def test_folder_whose_name_is_too_long():
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    with pytest.raises(SystemExit, match=r"error: cannot save pictures in xxx.*--out"):
        xor.main(["--out", "x" * 5000])


def test_folder_that_takes_no_files(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")

    def refuse(**where):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(plots.tempfile, "TemporaryFile", refuse)
    with pytest.raises(SystemExit, match=r"error: cannot save pictures in .*: Permission denied\. Choose another folder with --out\."):
        plots.make_folder(tmp_path)


def test_trying_the_folder_leaves_nothing(tmp_path):
    plots.make_folder(tmp_path)
    assert list(tmp_path.iterdir()) == []

"""Pictures are saved where asked; without matplotlib every example goes on and says so in one line."""

import sys

import numpy as np
import pytest

from examples import digits, engine, modes, moons, plots, xor

RUNS = {
    "engine": (engine.main, [], ["engine-rules"]),
    "xor": (xor.main, ["--epochs", "3"], ["xor-answers", "xor-loss"]),
    "moons": (moons.main, ["--epochs", "2"], ["moons-boundary", "moons-loss"]),
    "digits": (digits.main, ["--epochs", "1"], ["digits-curves", "digits-misread", "digits-weights"]),
    "modes": (modes.main, ["--largest", "5"], ["modes"]),
}


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

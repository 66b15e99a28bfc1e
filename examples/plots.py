"""Pictures: matplotlib figures saved as PNG files, and a line of text instead where matplotlib is not installed."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, ORANGE, GREEN, RED = "#2b6cb0", "#dd6b20", "#2f855a", "#c53030"

_FEW = 12  # points up to which a curve marks each: a single one has no line
_FLOOR = 1e-17  # so that an error of exactly 0 can be drawn


def _matplotlib() -> tuple[Any, Any] | None:
    """Matplotlib's figure and its PNG canvas; None where it is not installed."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        return None
    return Figure, FigureCanvasAgg


def make_folder(folder: Path) -> None:
    """Make the folder of the pictures and try it, so that a long run does not end in vain; nothing where matplotlib is not installed.

    Args:
        folder: where the files are to go.

    Raises:
        SystemExit: if the folder cannot be made or takes no files.
    """
    if _matplotlib() is None:
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        reason = error.strerror or error
        raise SystemExit(f"error: cannot save pictures in {folder}: {reason}. Choose another folder with --out.") from error


def save(folder: Path, pictures: Mapping[str, Callable[[Figure], None]]) -> list[Path]:
    """Draw each picture on a fresh figure, save it and print where.

    Args:
        folder: where the files go; it is made where it does not exist.
        pictures: file name (without ending) -> function that draws on the figure it is given.

    Returns:
        The files written; none where matplotlib is not installed.

    Raises:
        SystemExit: if the folder cannot be written.
    """
    found = _matplotlib()
    if found is None:
        print('No pictures: matplotlib is not installed (pip install matplotlib, or pip install -e ".[examples]").')
        return []
    make_figure, make_canvas = found
    files = []
    for name, draw in pictures.items():
        figure = make_figure(figsize=(7.0, 4.5), dpi=150, layout="constrained")
        make_canvas(figure)
        draw(figure)
        file = folder / f"{name}.png"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            figure.savefig(file)
        except OSError as error:
            raise SystemExit(f"error: cannot save the picture {file}: {error}. Choose another folder with --out.") from error
        print(f"saved {file}")
        files.append(file)
    return files


def marker(points: int) -> str:
    """The marker of a curve of so many points: dots where they are few, none where the line is enough."""
    return "o" if points <= _FEW else ""


def draw_errors(figure: Figure, errors: Mapping[str, float], title: str, x: str, y: str) -> None:
    """A bar for each error, on a log axis, with the bound of 1e-9 that all are to stay below.

    Args:
        figure: what to draw on.
        errors: what each bar is named, and how high it is.
        title: over the picture.
        x: what the bars are.
        y: what kind of error it is.
    """
    axes = figure.subplots()
    axes.bar(list(errors), [max(error, _FLOOR) for error in errors.values()], color=BLUE)
    axes.set_yscale("log")
    axes.set_ylim(_FLOOR, max(1e-7, 10.0 * max(errors.values())))
    axes.axhline(1e-9, color=ORANGE, linestyle="--", label="1e-9")
    axes.legend(frameon=False, loc="upper right")
    label(axes, title, x, y)
    axes.grid(visible=False, axis="x")


def label(axes: Axes, title: str, x: str, y: str, *, is_count: bool = False) -> None:
    """Set title and axis labels, and a light grid behind the data.

    Args:
        axes: what was drawn on.
        title: over the picture.
        x: under the horizontal axis.
        y: beside the vertical one; a log axis is made to span a factor of two at least, and of less than a decade its ticks are plain
            numbers: there may be no power of ten to be read.
        is_count: whether x counts epochs or steps, and so has ticks at whole numbers only.
    """
    from matplotlib import ticker

    low, high = axes.get_ylim()
    if axes.get_yscale() == "log" and high < 2.0 * low:
        middle = math.sqrt(low * high)
        axes.set_ylim(middle / math.sqrt(2.0), middle * math.sqrt(2.0))
    if axes.get_yscale() == "log" and high < 10.0 * low:
        axes.yaxis.set_major_locator(ticker.MaxNLocator(6))
        axes.yaxis.set_major_formatter(ticker.ScalarFormatter())
        axes.yaxis.set_minor_locator(ticker.NullLocator())
    if is_count:
        axes.locator_params(axis="x", integer=True, min_n_ticks=1)
    axes.set_title(title)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.grid(alpha=0.25)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)

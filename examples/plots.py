"""Pictures: matplotlib figures saved as PNG files, and a line of text instead where matplotlib is not installed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, ORANGE, GREEN, RED = "#2b6cb0", "#dd6b20", "#2f855a", "#c53030"


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
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        print('No pictures: matplotlib is not installed (pip install matplotlib, or pip install -e ".[examples]").')
        return []
    files = []
    for name, draw in pictures.items():
        figure = Figure(figsize=(7.0, 4.5), dpi=150, layout="constrained")
        FigureCanvasAgg(figure)
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


def label(axes: Axes, title: str, x: str, y: str) -> None:
    """Set title and axis labels, and a light grid behind the data."""
    axes.set_title(title)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.grid(alpha=0.25)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)

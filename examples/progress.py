"""A progress bar for long work: tqdm where it is installed, else a plain line; nothing where the output is not a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any, Generic, TextIO, TypeVar

T = TypeVar("T")

_REFRESH = 0.3  # seconds between two plain lines


class Progress(Generic[T]):
    """Iterate over `steps` and show how far the loop is.

    The bar goes to standard error and is gone when the loop ends, so that it never mixes with the results.

    Args:
        steps: what to iterate over.
        title: what the bar is named.
        stream: where the bar goes; standard error by default.

    Example:
        >>> bar = Progress(range(3), "training")
        >>> for epoch in bar:
        ...     bar.note(f"loss {1 / (epoch + 1):.2f}")
    """

    def __init__(self, steps: Sequence[T], title: str, stream: TextIO | None = None) -> None:
        self.steps = steps
        self.title = title
        self.stream = sys.stderr if stream is None else stream
        self._note = ""

    def note(self, text: str) -> None:
        """Set the text that stands after the bar: the loss, say."""
        self._note = text

    def __iter__(self) -> Iterator[T]:
        if not self.stream.isatty():
            return iter(self.steps)
        try:
            from tqdm import tqdm
        except ImportError:
            return self._plain()
        return self._bar(tqdm(total=len(self.steps), desc=self.title, file=self.stream, leave=False))

    def _bar(self, bar: Any) -> Iterator[T]:
        with bar:
            for step in self.steps:
                yield step
                bar.set_postfix_str(self._note, refresh=False)
                bar.update()

    def _plain(self) -> Iterator[T]:
        shown, width = 0.0, 0
        try:
            for done, step in enumerate(self.steps):
                if time.monotonic() - shown >= _REFRESH:
                    shown = time.monotonic()
                    line = f"{self.title}: {done} of {len(self.steps)} {self._note}".rstrip()
                    self.stream.write("\r" + line.ljust(width))
                    self.stream.flush()
                    width = len(line)
                yield step
        finally:
            self.stream.write("\r" + " " * width + "\r")
            self.stream.flush()

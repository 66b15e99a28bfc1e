"""The threads that compiled programs share: how many there are, and how a piece of work is done by several.

NumPy releases the interpreter's lock while it computes, so that threads of Python run on several cores.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from funcgrad.errors import InputTypeError, InputValueError
from funcgrad.silence import quietly


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Pool:
    """The threads beside the one that calls: started when first needed."""

    def __init__(self) -> None:
        self.size = _cores()
        self._executor: ThreadPoolExecutor | None = None
        self._workers = 0
        self._lock = threading.Lock()

    def resize(self, size: int) -> None:
        with self._lock:
            self.size = size

    def executor(self) -> ThreadPoolExecutor:
        with self._lock:
            wanted = max(self.size - 1, 1)
            if self._executor is None or self._workers < wanted:
                if self._executor is not None:
                    self._executor.shutdown(wait=False)
                self._executor, self._workers = ThreadPoolExecutor(wanted, thread_name_prefix="funcgrad"), wanted
            return self._executor

    def forget(self) -> None:
        """In a forked process no thread but the calling one is there."""
        self._executor = None
        self._lock = threading.Lock()


_POOL = _Pool()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_POOL.forget)


def set_num_threads(n: int) -> None:
    """How many threads a compiled program computes on; at the start as many as the process has cores.

    They serve elementwise parts of programs on large arrays. What NumPy's linear algebra does with threads of its own is not touched.

    Args:
        n: the number of threads, the calling one included, at least 1.

    Raises:
        InputTypeError: n is no int.
        InputValueError: n is less than 1.

    Example:
        >>> set_num_threads(1)
        >>> num_threads()
        1
    """
    if type(n) is not int:
        raise InputTypeError(f"set_num_threads: wanted an int, got {n!r:.60} ({type(n).__name__})")
    if n < 1:
        raise InputValueError(f"set_num_threads: wanted at least 1, got {n}")
    _POOL.resize(n)


def num_threads() -> int:
    """How many threads a compiled program computes on."""
    return _POOL.size


def on_all(work: Callable[[], None], most: int) -> None:
    """Call `work` on this thread, and on the others meanwhile: `most` calls at most. Each takes what is left to do, and returns.

    A thread that others keep busy is not waited for: its call is cancelled when everything is done.
    """
    others = min(_POOL.size, most) - 1
    if others <= 0:
        work()
        return
    executor = _POOL.executor()
    try:
        waiting = [executor.submit(quietly, work) for _ in range(others)]
    except RuntimeError:  # shut down meanwhile
        waiting = []
    work()
    for one in waiting:
        if not one.cancel():
            one.result()

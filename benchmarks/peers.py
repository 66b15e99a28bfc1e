"""The peers: which there are, which are installed, and how each is set up for a fair run on one thread in float64."""

import importlib
import importlib.metadata
import importlib.util
from collections.abc import Iterable
from dataclasses import dataclass

HAND_WRITTEN = "hand-written"
FUNCGRAD = "funcgrad"
FUNCGRAD_NUMPY = "funcgrad.numpy"
FUNCGRAD_LOOP = "funcgrad-loop"
FUNCGRAD_JIT = "funcgrad-jit"
FUNCGRAD_JIT_2 = "funcgrad-jit-2"
YARDSTICK = "yardstick"
AUTOGRAD = "autograd"
MYGRAD = "mygrad"
TORCH = "torch"
JAX_JIT = "jax-jit"
JAX = "jax"
ENGINE = "engine"


@dataclass(frozen=True)
class Peer:
    """One way to compute a workload.

    Attributes:
        name: What the command line and the JSON call it.
        title: What a table calls it.
        modules: The modules that must be importable; the first is the peer's own.
        is_heavy: Whether a smoke run leaves it out: slow to import, or slow to run.
    """

    name: str
    title: str
    modules: tuple[str, ...] = ()
    is_heavy: bool = False


PEERS: tuple[Peer, ...] = (
    Peer(HAND_WRITTEN, "hand-written NumPy"),
    Peer(FUNCGRAD, "funcgrad (plain numpy calls)", ("funcgrad.numpy",)),
    Peer(FUNCGRAD_NUMPY, "funcgrad (funcgrad.numpy)", ("funcgrad.numpy",)),
    Peer(FUNCGRAD_JIT, "funcgrad jit", ("funcgrad",)),
    Peer(FUNCGRAD_JIT_2, "funcgrad jit on two threads", ("funcgrad",)),
    Peer(FUNCGRAD_LOOP, "funcgrad in a Python loop", ("funcgrad",)),
    Peer(YARDSTICK, "(what it is held against)", ("funcgrad",)),
    Peer(AUTOGRAD, "autograd", ("autograd", "scipy")),
    Peer(MYGRAD, "mygrad", ("mygrad",), is_heavy=True),
    Peer(TORCH, "PyTorch eager", ("torch",), is_heavy=True),
    Peer(JAX_JIT, "JAX jit", ("jax",), is_heavy=True),
    Peer(JAX, "JAX without jit", ("jax",), is_heavy=True),
    Peer(ENGINE, "closure-per-node engine"),
)
NAMES: tuple[str, ...] = tuple(peer.name for peer in PEERS)
BY_NAME: dict[str, Peer] = {peer.name: peer for peer in PEERS}


def is_installed(peer: Peer) -> bool:
    """Whether the peer can be used here.

    Args:
        peer: The peer to look for.

    Returns:
        True if its modules can be found; they are not loaded for that.
    """
    try:
        return all(importlib.util.find_spec(module) is not None for module in peer.modules)
    except ModuleNotFoundError:  # the package that a submodule belongs to
        return False


def prepare(name: str) -> None:
    """Load a peer and set it up: one thread, float64, all else as it comes.

    Args:
        name: The peer's name.
    """
    if name == FUNCGRAD_JIT:
        from funcgrad.transforms.compile.threads import set_num_threads

        set_num_threads(1)
    elif name == TORCH:
        import torch

        torch.set_num_threads(1)
    elif name in (JAX, JAX_JIT):
        import jax

        jax.config.update("jax_enable_x64", True)
        jax.config.update("jax_cpu_enable_async_dispatch", False)  # every step waits for its result: a second thread would only delay it


def versions(names: Iterable[str]) -> dict[str, str]:
    """The versions of the libraries behind some peers.

    Args:
        names: Names of installed peers.

    Returns:
        Version by distribution name, in the order of `PEERS`.
    """
    wanted = set(names)
    found: dict[str, str] = {}
    for peer in PEERS:
        if peer.name not in wanted or not peer.modules:
            continue
        distribution = peer.modules[0].partition(".")[0]
        try:
            found[distribution] = importlib.metadata.version(distribution)
        except importlib.metadata.PackageNotFoundError:  # a source tree on the path that was not installed
            found[distribution] = str(getattr(importlib.import_module(distribution), "__version__", "unknown"))
    return found

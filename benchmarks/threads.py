"""The environment that holds every library to one thread. Libraries read it once, when they load."""

from collections.abc import Mapping

_VARIABLES = (
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NPROC",  # the size of XLA's thread pool; its flag below alone leaves a thread for every core
)
_XLA_FLAG = "--xla_cpu_multi_thread_eigen=false"


def one_thread_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The given environment with every numerical library held to one thread.

    Args:
        environment: The environment to start from; it is not changed.

    Returns:
        A new environment. Applying the function to its own result changes nothing.

    Example:
        >>> one_thread_environment({})["OMP_NUM_THREADS"]
        '1'
    """
    result = {**environment, **dict.fromkeys(_VARIABLES, "1"), "JAX_PLATFORMS": "cpu"}
    flags = result.get("XLA_FLAGS", "").split()
    if _XLA_FLAG not in flags:
        flags.append(_XLA_FLAG)
    result["XLA_FLAGS"] = " ".join(flags)
    return result

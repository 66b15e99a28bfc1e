"""SciPy's names: on plain arrays each is SciPy itself, on tracers it differentiates or says by name that it has no rule.

Submodules are imported by name, as SciPy's are: `from funcgrad.scipy import special`, `import funcgrad.scipy.stats`. They need SciPy, which
`pip install funcgrad[scipy]` brings; `import funcgrad` alone does without.
"""

from __future__ import annotations

try:
    import scipy as _scipy  # noqa: F401 - only whether it is there
except ImportError as error:
    raise ImportError("funcgrad.scipy needs SciPy, which is not installed: pip install funcgrad[scipy]") from error

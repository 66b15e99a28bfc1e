"""Trees: nested containers whose leaves are arrays or numbers.

Owns how a tree is taken apart into leaves and a `TreeDef`, put together again, and how a place in it is named (`['layers'][0].weight`).
Must not own anything about tracers, derivatives or dtypes: a leaf is whatever is not a registered container, NumPy object arrays included.

Nodes are dict (keys sorted), OrderedDict and defaultdict, list, tuple, named tuples, None (a node without leaves), and the classes that
`register_node` and `register_dataclass` add. Subclasses of dict and list are leaves unless registered. A dict whose keys cannot be sorted
raises `TreeError`: falling back to insertion order would make equal dicts differ in structure.
"""

from funcgrad.tree.functions import all as all  # noqa: A004
from funcgrad.tree.functions import flatten_with_path as flatten_with_path
from funcgrad.tree.functions import map as map  # noqa: A004
from funcgrad.tree.functions import map_with_path as map_with_path
from funcgrad.tree.functions import reduce as reduce
from funcgrad.tree.functions import transpose as transpose
from funcgrad.tree.kinds import register_dataclass as register_dataclass
from funcgrad.tree.kinds import register_node as register_node
from funcgrad.tree.treedef import LEAF as LEAF
from funcgrad.tree.treedef import TreeDef as TreeDef
from funcgrad.tree.treedef import flatten as flatten
from funcgrad.tree.treedef import leaves as leaves
from funcgrad.tree.treedef import structure as structure
from funcgrad.tree.treedef import unflatten as unflatten
from funcgrad.tree.vector import ravel as ravel

__all__ = [
    "LEAF",
    "TreeDef",
    "all",
    "flatten",
    "flatten_with_path",
    "leaves",
    "map",
    "map_with_path",
    "ravel",
    "reduce",
    "register_dataclass",
    "register_node",
    "structure",
    "transpose",
    "unflatten",
]

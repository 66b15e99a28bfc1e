"""A closure-per-node scalar engine: the yardstick of `scalar_moons`, as short introductions to backpropagation write it.

Every operation makes a node with the set of its parents, its symbol (to draw the graph with) and a closure that passes the gradient on;
`backward` sorts the graph by a recursive walk and calls the closures in reverse. The shape is the customary one; the same engine with
`__slots__`, parents in a tuple and no symbols takes about half the time.
"""

import math
from collections.abc import Callable


class Node:
    """A number that remembers how it was made.

    Attributes:
        value: The number.
        gradient: Derivative of the node that `backward` was called on with respect to this one; summed over calls.
        parents: The nodes it was made from.
        symbol: The operation that made it.
        pull: Adds to the parents' gradients.
    """

    def __init__(self, value: float, parents: tuple["Node", ...] = (), symbol: str = "") -> None:
        self.value = value
        self.gradient = 0.0
        self.parents = set(parents)
        self.symbol = symbol
        self.pull: Callable[[], None] = lambda: None

    def __add__(self, other: "Node | float") -> "Node":
        other = other if isinstance(other, Node) else Node(other)
        answer = Node(self.value + other.value, (self, other), "+")

        def pull() -> None:
            self.gradient += answer.gradient
            other.gradient += answer.gradient

        answer.pull = pull
        return answer

    def __mul__(self, other: "Node | float") -> "Node":
        other = other if isinstance(other, Node) else Node(other)
        answer = Node(self.value * other.value, (self, other), "*")

        def pull() -> None:
            self.gradient += other.value * answer.gradient
            other.gradient += self.value * answer.gradient

        answer.pull = pull
        return answer

    __radd__ = __add__
    __rmul__ = __mul__

    def backward(self) -> None:
        """Add this node's derivative with respect to every node it was made from to that node's `gradient`."""
        order: list[Node] = []
        seen: set[Node] = set()

        def visit(node: Node) -> None:
            if node not in seen:
                seen.add(node)
                for parent in node.parents:
                    visit(parent)
                order.append(node)

        visit(self)
        self.gradient = 1.0
        for node in reversed(order):
            node.pull()


def relu(x: Node) -> Node:
    """The larger of x and 0, as a node; derivative 0 at 0."""
    answer = Node(max(x.value, 0.0), (x,), "relu")

    def pull() -> None:
        x.gradient += (answer.value > 0.0) * answer.gradient

    answer.pull = pull
    return answer


def exp(x: Node) -> Node:
    """e to the x, as a node."""
    answer = Node(math.exp(x.value), (x,), "exp")

    def pull() -> None:
        x.gradient += answer.value * answer.gradient

    answer.pull = pull
    return answer


def log(x: Node) -> Node:
    """The natural logarithm of x, as a node."""
    answer = Node(math.log(x.value), (x,), "log")

    def pull() -> None:
        x.gradient += answer.gradient / x.value

    answer.pull = pull
    return answer

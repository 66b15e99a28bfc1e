"""Tables are aligned."""

import itertools

import pytest

from examples.tables import counted, format_table, spread


def test_numbers_to_the_right_and_words_to_the_left():
    assert format_table(["name", "loss", "note"], [["a", "10", "x"], ["long name", "-3.5", "longer"]]).splitlines() == [
        "  name       loss  note",
        "  ---------  ----  ------",
        "  a            10  x",
        "  long name  -3.5  longer",
    ]


@pytest.mark.parametrize(
    ("length", "first", "wanted"),
    [
        (1, 1, [1]),
        (3, 1, [1, 2, 3]),
        (6, 0, [0, 1, 2, 3, 4, 5]),
        (100, 0, [0, 20, 40, 60, 80, 99]),
        (200, 1, [1, 40, 80, 120, 160, 200]),
        (1000, 0, [0, 200, 400, 600, 800, 999]),
    ],
)
def test_spread(length, first, wanted):
    assert spread(length, first) == wanted


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("length", [*range(1, 60), 997])
def test_spread_is_even_and_has_both_ends(length, first):
    places = spread(length, first)
    assert (places[0], places[-1]) == (first, first + length - 1)
    assert min(5, length) <= len(places) <= 6
    gaps = [after - before for before, after in itertools.pairwise(places)]
    assert all(abs(gap - length / 5) < 2 for gap in gaps) or length <= 6


def test_counted():
    assert [counted(count, "epoch") for count in (0, 1, 2)] == ["0 epochs", "1 epoch", "2 epochs"]

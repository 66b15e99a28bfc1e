"""Tables are aligned."""

from examples.tables import format_table


def test_numbers_to_the_right_and_words_to_the_left():
    assert format_table(["name", "loss", "note"], [["a", "10", "x"], ["long name", "-3.5", "longer"]]).splitlines() == [
        "  name       loss  note",
        "  ---------  ----  ------",
        "  a            10  x",
        "  long name  -3.5  longer",
    ]

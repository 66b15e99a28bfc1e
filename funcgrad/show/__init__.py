"""The tape, shown to people."""

from funcgrad.show.table import table as table

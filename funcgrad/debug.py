"""Looking into a function: how much it records."""

from funcgrad.transforms.inspect import count_records as count_records

"""Making arrays and putting them together: by numbers, joining, choosing, padding."""

"""The operations: one file a family, each primitive beside its rule."""

"""Speed and memory of funcgrad beside its peers: `python -m benchmarks`.

Owns the workloads, their implementations for every peer, and how they are measured. It must not be imported by `funcgrad`.
"""

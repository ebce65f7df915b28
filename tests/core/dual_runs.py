"""Runs of dual ascent, as hypothesis draws them."""

from hypothesis import strategies as st

DUAL_RUNS = {
    "seed": st.integers(0, 10**6),
    "shape": st.tuples(st.integers(1, 15), st.integers(1, 9)),
    "density": st.sampled_from([0.0, 0.3, 1.0]),
    "kind": st.sampled_from(["rows", "columns", "csr", "csc"]),
    "single": st.booleans(),
    "wide": st.booleans(),
    "equal": st.booleans(),
    "intercept": st.booleans(),
    "epochs": st.integers(0, 6),
}

"""Proofs that a clustering is optimal: the dual of Peng and Wei's relaxation."""

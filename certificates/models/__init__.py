"""The formulations that proofs can be about, built from instances in exact integers."""

"""POFO: the dynamic program over offloading and recomputation, and its timing."""

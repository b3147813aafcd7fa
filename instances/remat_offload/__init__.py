"""The problem of training a chain with a link to the host: recomputation and offloading."""

"""Exact mixed-integer program of weight offloading over the events of one period."""

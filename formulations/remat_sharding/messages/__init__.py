"""Graphs of states whose messages bound sharding with recomputation."""

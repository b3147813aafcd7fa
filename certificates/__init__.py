"""Certificates: proofs of lower bounds that anybody can check; the file format and its checker.

A certificate holds an instance, a claim about it and a proof in integers: a branching tree whose
leaves carry multipliers. Nothing of the model is in the file. The checker builds the rows from the
instance itself, and follows the proof in exact integers.

This folder needs nothing but Python's standard library, and imports nothing else of jettison, so
that it can be read, copied and run alone: ``python -m certificates FILE`` in the folder above it,
or ``python -m jettison.certificates FILE`` where jettison is installed.

=============================== ===============================================================
``certificate_file``            the format: a header and the lines of a proof, as a stream
``integer_model``               what a proof is about: an integer program
``formulations``                the models of all problems by name; folders have their rows
``derived_rows``                rows that follow from others: roundings, and knapsack covers
``dual_bound``                  weak duality over bounded columns, kept up to date
``proof_tree``                  the tree: every part of the space must be closed by a leaf
``remat_chain/bellman``         a proof of another kind: step functions below a dynamic program
``remat_offload/pofo_bellman``  another one: least costs of the states of POFO's program
``multi_model/training_units``  another one: a tree for each unit, and the least sum of units
``checker``                     all of it together
=============================== ===============================================================
"""

"""Proofs of lower bounds that `jettison.certificates` checks.

Nothing here is trusted: what a linear solver answers becomes integer multipliers, whatever they
are worth, and no claim leaves this folder before the checker has followed the finished bytes.

======================== =====================================================================
``statement``            a problem and a formulation, as a certificate's header names them
``proof_lines``          a proof, and why the search for one ended
``prove``                the search for a proof that no point of a model beats a time
``search``, ``tree``     branch and bound, and the nodes that become the proof
``branching``            the choice of the column to branch at
``linear_program``       relaxations, solved by HiGHS
``exact_rows``           bounds that multipliers prove, in exact integers
``objective``            conversion between bounds on an objective and times
``new_rows``, ``covers`` rows that the model implies, and those of them that help
``proof_text``           the text of a proof
``certificate``          a header and a proof, checked and saved
``certify``              from a statement and a time to a certificate
``params``               the effort of these searches
``attempts``             the same where several models can prove a claim
``remat_graph``, ``remat_chain``, ``weight_offload``, ``sharding``, ``three_partition``
                         which models these are for each problem
``persistent_program``   certificates of the dynamic programs of a chain
``program_steps``        the step functions that they rest on
``persistent_steps``     the ways to begin a sub-chain that keeps its checkpoints
``drop_steps``           those of one that drops them
======================== =====================================================================
"""

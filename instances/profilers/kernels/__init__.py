"""Kernels of single calls of operators: what each allocates, measured in a process of its own."""

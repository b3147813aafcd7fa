"""Choose one strategy for every node: the problem of Alpa and of the IOPDDL contest."""

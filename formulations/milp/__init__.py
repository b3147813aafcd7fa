"""Array models and their bridges to PuLP, Pyomo and files."""

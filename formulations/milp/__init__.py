"""Mixed-integer linear models as arrays, with bridges to PuLP, Pyomo and files."""

"""What is given: chains and graphs, with their files, importers and profilers."""

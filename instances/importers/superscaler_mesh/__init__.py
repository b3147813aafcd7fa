"""SuperScaler's operators and collectives as sharded graphs on meshes of one dimension."""

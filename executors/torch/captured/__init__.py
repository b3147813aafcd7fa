"""Training steps whose operations are captured as CUDA graphs."""

"""The model that bounds the time of one unit of fused models."""

"""Steps of many models whose operators are fused."""

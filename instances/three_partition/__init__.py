"""3-PARTITION: instances, certificates of their answers, and their reduction to chains."""

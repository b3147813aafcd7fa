"""3-PARTITION: items, certificates of their answers, and the chains that they become."""

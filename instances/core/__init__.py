"""What knows no kind of instance and no problem: the protocol of instances, and the registry."""

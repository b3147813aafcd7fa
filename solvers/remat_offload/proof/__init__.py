"""Certificates of chains with a link to the host: POFO's program, and single operations."""

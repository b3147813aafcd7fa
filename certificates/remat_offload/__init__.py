"""Certificates of chains with a link to the host: what POFO's dynamic program proves."""

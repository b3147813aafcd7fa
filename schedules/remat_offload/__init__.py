"""Offload schedules of chains: computations and transfers to the host, and their replays."""

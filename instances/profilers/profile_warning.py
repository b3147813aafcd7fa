"""Warning about measurements that may not be what they seem."""

from __future__ import annotations


class ProfileWarning(UserWarning):
    """Warning about a profile: the message has the figures, and what to do about them."""

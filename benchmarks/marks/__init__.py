"""Marks: cases that have been reached, or published, and must not be lost."""

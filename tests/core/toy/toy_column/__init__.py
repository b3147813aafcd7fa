"""A column from outside: values that are kept within memory, or computed again when needed."""

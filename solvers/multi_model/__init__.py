"""Methods for training several models in one memory."""

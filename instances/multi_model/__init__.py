"""Several models of one structure, and the problem of training them in one memory."""

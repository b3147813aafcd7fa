"""Models of one architecture, and the problem of training them together on one device."""

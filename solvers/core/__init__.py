"""What every problem and method uses; no module in this room knows any of them."""

"""KIWI's formulations: the full and the reduced problem."""

"""KIWI's methods, complete and reduced."""

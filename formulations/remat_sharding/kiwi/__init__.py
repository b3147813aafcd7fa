"""KIWI's models, complete and reduced."""

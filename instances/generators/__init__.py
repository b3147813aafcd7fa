"""Instances made from parameters, with what is known of them."""

"""Strategy choices for strategy graphs, their replay and picture."""

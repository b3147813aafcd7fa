"""Multi-model schedules: training units, their replay and picture."""

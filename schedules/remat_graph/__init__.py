"""Graph schedules: values computed and freed, their replay and picture."""

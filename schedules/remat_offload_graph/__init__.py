"""Graph schedules with transfers to the host, and their replay."""

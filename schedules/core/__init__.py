"""What knows no kind of schedule: the protocol of schedules, their files and their replay."""

"""What an answer is: schedules, and the independent replays that judge them."""

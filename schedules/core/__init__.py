"""What every schedule needs: replays, classes, findings, files, pictures."""

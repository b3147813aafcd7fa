"""What every kind of instance needs: files, hashes, names, units, errors, provenance."""

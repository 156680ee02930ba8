"""The tuner: runs a command, or a recorded pattern, with other hints, and keeps those that are faster beyond noise."""

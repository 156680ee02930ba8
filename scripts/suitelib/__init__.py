"""The parts of scripts/suites.py: MPIs, sources, the suites themselves, the report."""

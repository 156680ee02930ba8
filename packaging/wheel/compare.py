"""Compares the file of through.py with what it must hold, without MPI."""
import array
import sys

expected = array.array("i", range(2000)).tobytes()
with open(sys.argv[1], "rb") as file:
    found = file.read()
if found != expected:
    sys.exit(f"the file has {len(found)} bytes of {len(expected)}, or others")
print("the file is right, read without MPI")

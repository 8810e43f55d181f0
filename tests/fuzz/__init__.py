"""Random calls, programs, objects and files that look for wrong results and crashes; see README.md."""

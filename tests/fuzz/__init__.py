"""Random calls, programs, objects and files, which look for wrong answers and crashes; README.md tells how to run."""

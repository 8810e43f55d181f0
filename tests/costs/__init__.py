"""What the tests cost: processor time and memory by file, by fixture and by cause; `make costs` writes the tables."""

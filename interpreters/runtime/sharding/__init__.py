"""Arrays and programs over several devices."""

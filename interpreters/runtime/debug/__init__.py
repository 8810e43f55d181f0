"""Options that find mistakes while programs run."""

"""The documentation site: the pages of docs/, and those that are made from the code."""

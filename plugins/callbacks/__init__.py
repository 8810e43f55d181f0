"""Calls from programs back to Python: callbacks, and printing from them."""

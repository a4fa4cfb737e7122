"""Whole sessions, end to end through the public API, and what must hold at each point of them."""

"""Protocols cut by their consumers: what services need from the world."""

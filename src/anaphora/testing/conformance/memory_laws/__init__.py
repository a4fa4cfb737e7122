"""The laws of a memory, as its users see it: one module a subject."""

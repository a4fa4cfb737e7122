"""The laws of the store, one module a subject."""

"""The nouns: frozen, keyword-only, without I/O, clock or environment."""

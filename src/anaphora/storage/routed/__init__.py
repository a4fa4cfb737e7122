"""Several stores that are one: every tenant lives in one of them."""

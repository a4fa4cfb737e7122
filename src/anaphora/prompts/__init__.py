"""Prompt texts with their response schemas and parsers, one module a task. No prompt text stands elsewhere."""

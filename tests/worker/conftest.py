"""These tests run on every database."""

from tests.databases.both import database_kind, pytest_generate_tests

__all__ = ["database_kind", "pytest_generate_tests"]

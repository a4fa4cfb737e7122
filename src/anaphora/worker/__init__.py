"""The job loop."""

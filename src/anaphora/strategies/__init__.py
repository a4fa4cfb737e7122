"""The strategies: pure policies of numbers. None imports another."""

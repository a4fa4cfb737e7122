"""Small pure decisions shared by strategies and services."""

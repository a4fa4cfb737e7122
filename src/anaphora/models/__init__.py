"""Adapters to language models, embedders and tokenizers."""

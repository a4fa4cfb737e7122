"""What is known of the embedders that Anaphora ships with."""

from __future__ import annotations

from anaphora.ports.models import EmbedderProfile

#: English. The thresholds were measured on paraphrase pairs and on topic changes; they hold for this model alone.
BGE_SMALL = EmbedderProfile(
    id="bge-small-en-v1.5-int8",
    dimensions=384,
    max_tokens=512,
    pooling="cls",
    query_prefix="Represent this sentence for searching relevant passages: ",
    relevance_threshold=0.46,
    same_topic_threshold=0.48,
)

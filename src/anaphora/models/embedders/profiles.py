"""What is known of the embedders that Anaphora ships with."""

from __future__ import annotations

from anaphora.ports.models import EmbedderProfile

#: English. The thresholds were measured on paraphrase pairs and on topic changes, the cosines on the
#: questions of LoCoMo; they hold for this model alone.
BGE_SMALL = EmbedderProfile(
    id="bge-small-en-v1.5-int8",
    dimensions=384,
    max_tokens=512,
    pooling="cls",
    query_prefix="Represent this sentence for searching relevant passages: ",
    relevance_threshold=0.46,
    same_topic_threshold=0.48,
    unrelated_cosine=0.515,
    cosine_spread=0.06,
    even_cosine=0.6,
    even_width=0.04,
)

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

#: Of an embedder that nobody measured: a guess, for models of which two texts that have nothing to do with each other
#: have a cosine of .1 to .2, as those of OpenAI are said to. Settings (`embedder_profile`) take its place.
GENERIC = EmbedderProfile(
    id="generic",
    dimensions=0,
    max_tokens=512,
    pooling="remote",
    query_prefix="",
    relevance_threshold=0.4,
    same_topic_threshold=0.35,
    unrelated_cosine=0.15,
    cosine_spread=0.1,
    even_cosine=0.4,
    even_width=0.06,
)

"""Where one topic ends and the next begins: decided message by message, from words and vectors, without a model.

`cues` says what the wording of a message tells, `views` compares it with the open topic, `score` weighs what was seen,
and `detector` makes a verdict of it.
"""

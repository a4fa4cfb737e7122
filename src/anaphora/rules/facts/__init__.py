"""What may become a fact, when two facts are the same, and which facts people state in plain words. Pure.

- `gate`: whether a candidate may be believed; `judging` holds its questions, one a module.
- `spoken`: the facts that plain sentences state, for those who have no model.
- `merging`, `slots`: which facts say the same, or cannot both hold; `tombstones`: what must not be learned again.
- `keeping`: which facts are kept where there are too many, and which are set aside.
- `shown`: the facts of a prompt, within their budget.

Words, numbers and quantities are read by `rules.language`.
"""

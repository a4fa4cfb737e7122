"""The three sessions of the original test harness, word by word, and its points.

Two of its points are put into our terms. "Closed topics in session: 1" holds when the user has not gone back yet: that
the user goes back closes the second topic here, while there it went unnoticed. And notes are not owed, but where a
notepad is kept, something stands in it.
"""

from __future__ import annotations

from typing import Final

from anaphora.domain.wire import SectionName
from anaphora.evals.sessions.checks import (
    IMPORTANT,
    closed_topics,
    knows,
    noted,
    open_topic,
    says,
    shown,
    topic,
)
from anaphora.evals.sessions.scenarios import End, Look, Say, Scenario, Sitting, point

_USER: Final = "alice"
_STORE: Final = "seed"

_ONE: Final = Sitting(
    user=_USER,
    session="1",
    steps=(
        Say(
            "Hi, my name is Alice and I'm a data scientist",
            (
                point("the name is a fact right after the turn", knows("Alice", least=IMPORTANT)),
                point("the occupation is one too", knows("data scientist", least=IMPORTANT)),
            ),
        ),
        Say(
            "I work with machine learning models at Google",
            (point("the company is a fact right after the turn", knows("Google", least=IMPORTANT)),),
        ),
        Say("I'm currently working on a project using TensorFlow"),
        Say("It's been challenging but really interesting"),
        Say(
            "Can you help me understand how to optimize it?",
            (
                point('the prompt says what "it" is', shown("TensorFlow")),
                point('the answer understands "it" as the TensorFlow project', says("TensorFlow")),
            ),
        ),
        End(
            (
                point("a topic with a summary is stored at the end", topic("TensorFlow")),
                point("the notepad has a page", noted()),
            )
        ),
    ),
)

_TWO: Final = Sitting(
    user=_USER,
    session="2",
    steps=(
        Say(
            "What's my name?",
            (point("the name is recalled from session 1", shown("Alice", section=SectionName.FACTS), says("Alice")),),
        ),
        Say(
            "Where do I work?",
            (
                point(
                    "the company is recalled from session 1", shown("Google", section=SectionName.FACTS), says("Google")
                ),
            ),
        ),
        Say(
            "Can you remind me about that TensorFlow project I was working on?",
            (
                point("the prompt has the topic of session 1", shown("TensorFlow", section=SectionName.TOPICS)),
                point("the answer tells of the project", says("TensorFlow", "project")),
            ),
        ),
        Look(
            (
                point("the facts of session 1 are there", knows("Alice"), knows("data scientist"), knows("Google")),
                point("the topic of session 1 is there", topic("TensorFlow", session="1")),
            )
        ),
        End(),
    ),
)

_RETURN: Final = "Going back to neural networks, what were the questions I had before that I was confused on?"
_DETAILS: Final = ("backpropagation", "gradient descent", "activation functions")
_THREE: Final = Sitting(
    user=_USER,
    session="3",
    steps=(
        Say("I want to learn about neural networks and deep learning"),
        Say("Can you explain backpropagation in detail?"),
        Say("How does gradient descent work with backpropagation?"),
        Say(
            "What are the differences between different activation functions?",
            (
                point("the details of the topic stand in the prompt", shown("neural networks", "gradient descent")),
                point("it is one topic so far", closed_topics(0), open_topic("neural networks", "activation")),
            ),
        ),
        Say(
            "Actually I want to go to Waffle House right now",
            (
                point("the shift is seen at the Waffle House message", closed_topics(1)),
                point("the topic of neural networks is closed, with a summary", topic("neural networks")),
                point("the topic of the waffle house is open", open_topic("Waffle House", without=["neural"])),
            ),
        ),
        Say("How does their hash browns preparation work?"),
        Say(
            "Can a person survive if they only eat Waffle House hashbrowns for 41 days without other nutrient intakes?",
            (
                point("one topic is closed before the user goes back", closed_topics(1)),
                point("the waffle house goes on", open_topic("hash browns", "41 days", without=["neural"])),
            ),
        ),
        Say(
            _RETURN,
            (
                point("the prompt has the details again", shown(*_DETAILS)),
                point("the answer tells them", says(*_DETAILS)),
                point("the details come from the closed topic", shown(*_DETAILS, section=SectionName.THREADS)),
            ),
        ),
        End((point("both topics are stored with their summaries", topic("neural networks"), topic("Waffle House")),)),
    ),
)

SEED: Final = tuple(
    Scenario(name=f"the seed's session {sitting.session}", store=_STORE, sittings=(sitting,))
    for sitting in (_ONE, _TWO, _THREE)
)

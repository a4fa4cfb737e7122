"""The tools of an agent as function tools of pydantic-ai. Needs the extra `llm`."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from pydantic_ai import Tool

from anaphora.agents.agent import Agent
from anaphora.agents.tools import Tools
from anaphora.ports.tools import ToolCall


def function_tools(agent: Agent) -> list[Tool[Any]]:
    """The tools that the agent's configuration allows, for `pydantic_ai.Agent(tools=...)`.

    Whose conversations and documents they look into is fixed by the agent; a wrong argument is told to the model, and
    ends nothing. The agent must be initialized as long as they are used.
    """
    toolbox = agent.toolbox
    if toolbox is None:
        return []
    return [
        Tool.from_schema(
            partial(_call, toolbox, tool.name),
            name=tool.name,
            description=tool.description,
            json_schema=dict(tool.parameters),
        )
        for tool in toolbox.tools
    ]


async def _call(toolbox: Tools, name: str, /, **given: Any) -> str:  # noqa: ANN401 - the model's arguments
    return await toolbox.call(ToolCall(id="", name=name, arguments=json.dumps(given, default=str)))

"""The configurations and the Python that seed 001 prints, letter by letter (but for blanks at the ends of lines)."""

from __future__ import annotations

BASIC = """\
{
  "agent_id": "memory_enabled_agent",
  "resources": ["memory"],
  "provider": "azure_openai_cc",
  "model": "gpt-4o-mini"
}
"""

ADVANCED = """\
{
  "agent_id": "advanced_memory_agent",
  "resources": ["memory"],
  "provider": "azure_openai_cc",
  "model": "gpt-4o-mini",
  "resource_config": {
    "memory": {
      "compression": {
        "enabled": true,
        "threshold_tokens": 8000,
        "recent_messages_to_keep": 10,
        "archive_conversations": false
      }
    }
  }
}
"""

ARCHIVAL = """\
{
  "agent_id": "knowledge_memory_agent",
  "resources": ["memory", "knowledge_base"],
  "provider": "azure_openai_cc",
  "model": "gpt-4o-mini",
  "allowed_regular_tools": ["search_knowledge_base", "list_documents"],
  "resource_config": {
    "memory": {
      "compression": {
        "enabled": true,
        "threshold_tokens": 8000,
        "recent_messages_to_keep": 10,
        "archive_conversations": true
      }
    },
    "knowledge_base": {
      "vector_provider": "pgvector",
      "chunk_size": 800,
      "chunk_overlap": 100,
      "embedding_provider": "azure_openai_cc",
      "embedding_model": "text-embedding-ada-002",
      "enable_cross_session_context": true,
      "relevance_threshold": 0.7,
      "search_triggers": [
        "what did we discuss",
        "previous conversation",
        "last time",
        "remind me",
        "we mentioned",
        "earlier you said"
      ]
    }
  }
}
"""

COMPRESSION = """\
{
  "compression": {
    "enabled": true,
    "threshold_tokens": 8000,
    "recent_messages_to_keep": 10,
    "archive_conversations": true
  }
}
"""

RERANKING = """\
{
  "knowledge_base": {
    "rerank_provider": "azure_openai_cc",
    "rerank_model": "gpt-4o-mini",
    "enable_cross_session_context": true
  }
}
"""

LOADING = """\
# Memory is automatically loaded when agents process requests
conversation_history = await agent.load_memory()
# Returns: [{"role": "system", "content": "Summary..."},
#          {"role": "user", "content": "Hello"},
#          {"role": "assistant", "content": "Hi there!"}]
"""

SAVING = """\
# Memory is automatically saved after each exchange
await agent.save_memory("user", user_message)
response = await agent.chat(user_message)
await agent.save_memory("assistant", response)
"""

CLEARING = """\
# API agents support clearing conversation history
count = await agent.clear_conversation()
# Returns number of messages cleared
"""

TOOLS = """\
# Available as function tools
await search_knowledge_base(
    query="authentication discussion",
    search_type="conversations",
    limit=5
)

await list_documents(
    doc_type="conversations",
    limit=10
)
"""

BASIC_EXAMPLE = """\
from app.core.agents.api_agent import APIAgent

# Create agent with memory
agent = APIAgent("memory_agent", "user123", "session456")
await agent.initialize()

# Chat with persistent memory
response1 = await agent.chat("My name is Alice")
response2 = await agent.chat("What's my name?")
# Agent remembers "Alice" from previous message

await agent.cleanup()
"""

COMPRESSION_EXAMPLE = """\
# Configure agent with compression
agent_config = {
    "agent_id": "research_agent",
    "resources": ["memory"],
    "resource_config": {
        "memory": {
            "compression": {
                "enabled": True,
                "threshold_tokens": 5000,
                "recent_messages_to_keep": 8
            }
        }
    }
}

agent = APIAgent("research_agent", "user123", "long_session")
await agent.initialize()

# Have a long conversation
for i in range(20):
    await agent.chat(f"Research topic {i}")

# Compression happens automatically when threshold is reached
# Recent messages preserved, older messages summarized
"""

CROSS_SESSION_EXAMPLE = """\
# Session 1: Initial conversation
agent1 = APIAgent("knowledge_agent", "user123", "session1")
await agent1.initialize()

await agent1.chat("I'm building a REST API with authentication")
await agent1.chat("Planning to use JWT tokens with 1-hour expiration")
await agent1.cleanup()

# Session 2: Reference past conversation
agent2 = APIAgent("knowledge_agent", "user123", "session2")
await agent2.initialize()

# This triggers cross-session context search
response = await agent2.chat("What did we discuss about authentication?")
# Agent automatically includes relevant context from session1

await agent2.cleanup()
"""

CUSTOM_EXAMPLE = """\
# Agent with custom compression and archival settings
memory_config = {
    "agent_id": "custom_agent",
    "resources": ["memory", "knowledge_base"],
    "resource_config": {
        "memory": {
            "compression": {
                "enabled": True,
                "threshold_tokens": 12000,
                "recent_messages_to_keep": 15,
                "archive_conversations": True
            }
        },
        "knowledge_base": {
            "enable_cross_session_context": True,
            "relevance_threshold": 0.8,
            "search_triggers": ["remind me", "we talked about", "previous session"]
        }
    }
}

agent = APIAgent("custom_agent", "user123", "session789")
await agent.initialize()
# Agent will compress at 12k tokens, keep 15 recent messages,
# archive to knowledge base, and provide cross-session context
"""

ARCHIVED = r"""\
# Archived document structure
{
  "content": "# Conversation Summary\n## Date Range: ...\n## Summary: ...",
  "namespace": "conversations:{user_id}",
  "doc_type": "conversation",
  "metadata": {
    "session_id": "session_123",
    "agent_id": "research_agent",
    "conversation_topics": ["authentication", "JWT", "security"],
    "entities_mentioned": ["John", "UserService", "Redis"],
    "decisions_made": ["Use JWT with 1-hour expiration"],
    "open_questions": ["Should we implement refresh tokens?"],
    "message_count": 25,
    "date_range": {
      "start": "2024-01-15T10:00:00Z",
      "end": "2024-01-15T11:30:00Z"
    }
  }
}
"""

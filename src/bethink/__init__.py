"""bethink: memory for AI agents.

>>> from bethink import Memory
>>> memory = Memory("agent.db")
"""

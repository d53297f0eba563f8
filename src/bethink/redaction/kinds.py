"""The names of what can be found."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

__all__ = ["KINDS", "Kind"]

Kind: TypeAlias = Literal["private_key", "jwt", "api_key", "url_password", "password", "iban", "card", "ssn", "email", "phone"]

KINDS: tuple[Kind, ...] = get_args(Kind)
"""In the order in which they are looked for: what may hold others first."""

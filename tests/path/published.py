"""Small made-up files in the shapes of the published data sets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

__all__ = ["beam", "haystack", "locomo", "sample", "written"]


def written(path: Path, content: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))
    return path


def sample(name: str, first: str, second: str, *questions: dict[str, Any]) -> dict[str, Any]:
    """A conversation of LoCoMo: two sessions of two people, and a question of category 1 unless others are given."""
    said = [
        [(first, "I bought a kayak in Ghent."), (second, "I bought a cello in Porto.")],
        [(second, "My sister Vera is a beekeeper."), (first, "I sold the kayak last week.")],
    ]
    sessions: dict[str, Any] = {}
    for number, turns in enumerate(said, 1):
        sessions[f"session_{number}_date_time"] = f"1:56 pm on {7 + number} May, 2023"
        sessions[f"session_{number}"] = [
            {"speaker": speaker, "dia_id": f"D{number}:{place}", "text": text} for place, (speaker, text) in enumerate(turns, 1)
        ]
    asked = questions or (
        {"question": f"Which kayak did {first} buy?", "answer": "a kayak", "evidence": ["D1:1"], "category": 1},
    )
    return {"sample_id": name, "conversation": {"speaker_a": first, "speaker_b": second, **sessions}, "qa": list(asked)}


def locomo(folder: Path, *samples: dict[str, Any]) -> Path:
    return written(folder / "locomo.json", list(samples or (sample("conv-26", "Ada", "Bo"), sample("conv-99", "Cy", "Di"))))


def haystack(**fields: object) -> dict[str, Any]:
    """A question of LongMemEval: two sessions, the later one first in the file; the answer is in the earlier one."""
    return {
        "question_id": "q1",
        "question_type": "multi-session",
        "question": "Which instrument do I play?",
        "answer": "the cello",
        "question_date": "2023/07/20 (Thu) 08:00",
        "haystack_dates": ["2023/07/12 (Wed) 10:14", "2023/07/11 (Tue) 09:00"],
        "haystack_session_ids": ["filler_1", "answer_1"],
        "haystack_sessions": [
            [{"role": "user", "content": "How do I boil rice?"}, {"role": "assistant", "content": "In water."}],
            [
                {"role": "user", "content": "I practise the cello every day.", "has_answer": True},
                {"role": "assistant", "content": "What a fine instrument."},
            ],
        ],
        "answer_session_ids": ["answer_1"],
        **fields,
    }


def beam(folder: Path, *, probes: dict[str, Any] | None = None) -> Path:
    """A chat of BEAM of two batches, and its questions beside it."""
    said = ["My sprint ends on March 29.", "Noted.", "Which database suits me?", "SQLite."]
    batches = [
        {
            "batch_number": number,
            "turns": [
                [
                    {"role": role, "id": 2 * number - 2 + place, "content": said[2 * number - 2 + place]}
                    for place, role in enumerate(("user", "assistant"))
                ]
            ],
        }
        for number in (1, 2)
    ]
    written(folder / "chat.json", batches)
    asked = probes or {
        "abstention": [{"question": "What is my dog's name?"}],
        "information_extraction": [{"question": "When does my sprint end?", "source_chat_ids": [0]}],
        "knowledge_update": [{"question": "Which database?", "source_chat_ids": {"original_info": [2], "updated_info": [[3]]}}],
    }
    written(folder / "probing_questions.json", asked)
    return folder

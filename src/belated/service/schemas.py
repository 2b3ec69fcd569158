"""JSON schemas of what goes in and out, for the OpenAPI document. The checks themselves are the study's."""

from __future__ import annotations

from belated.validation import Spec

NUMBER: Spec = {"type": "number"}
WHOLE: Spec = {"type": "integer", "minimum": 0}
COUNT: Spec = {"type": "integer", "minimum": 1, "maximum": 1000}
FLAG: Spec = {"type": "boolean"}
WORDS: Spec = {"type": "string"}
NAME: Spec = {
    "type": "string",
    "description": "letters and digits of any script, and . _ - (NFC; at most 255 bytes)",
    "pattern": "^[^/]+$",
    "maxLength": 128,
    "example": "catalyst",
}
PARAMS: Spec = {"type": "object"}
OBJECT: Spec = {"type": "object"}
NOTHING: Spec = {"type": "null"}
PAIR: Spec = {"type": "array", "items": NUMBER, "minItems": 2, "maxItems": 2}
MOMENT: Spec = {
    "type": ["number", "string"],
    "description": "seconds since 1970, or a time",
    "example": "2026-03-01T14:30Z",
}
PATIENCE: Spec = {
    "type": ["integer", "string"],
    "description": 'rounds, or a time, "auto", "auto-clock", "none"',
    "example": "14d",
}
CONTEXT_TEXT: Spec = {"type": "string", "description": "a JSON object", "example": '{"who": "new"}'}
PICTURES = {"png": "image/png", "svg": "image/svg+xml", "pdf": "application/pdf"}
TRIAL_NUMBER: Spec = {
    "anyOf": [
        {"type": "integer", "minimum": 1},
        {
            "type": "object",
            "description": "with its params, which must be those that were asked",
            "properties": {
                "number": {"type": "integer"},
                "params": PARAMS,
                "asked_params": {"type": ["object", "null"]},
            },
            "required": ["number", "params"],
            "additionalProperties": False,
        },
    ]
}
TRIAL_NUMBERS: Spec = {"anyOf": [TRIAL_NUMBER, {"type": "array", "items": TRIAL_NUMBER}]}
TRIAL: Spec = {
    "type": "object",
    "properties": {
        "number": {"type": "integer"},
        "params": PARAMS,
        "status": {"type": "string", "enum": ["pending", "heard", "late", "expired", "failed", "counted"]},
        "outcome": {"type": ["number", "null"]},
        "asked_at": NUMBER,
    },
    "required": ["number", "params", "status", "outcome", "asked_at"],
    "example": {
        "number": 7,
        "params": {"temperature": 61.5},
        "status": "heard",
        "outcome": 0.83,
        "asked_at": 1772370000.0,
        "asked_by": "cluster",
        "ended_by": "anna",
    },
}
TRIALS: Spec = {"type": "array", "items": TRIAL}
TRIAL_OR_TRIALS: Spec = {"anyOf": [TRIAL, TRIALS]}
MAYBE_TRIAL: Spec = {"anyOf": [TRIAL, NOTHING]}
RECEIPT: Spec = {
    "type": "object",
    "properties": {
        "number": {"type": "integer"},
        "status": {"type": "string", "enum": ["heard", "duplicate", "late"]},
        "delay": NUMBER,
        "used": FLAG,
        "note": WORDS,
    },
    "required": ["number", "status", "delay", "used", "note"],
    "example": {"number": 7, "status": "heard", "delay": 3.0, "used": True, "note": ""},
}
PAST_EVENTS: Spec = {
    "type": "array",
    "items": {"type": "object", "properties": {"position": {"type": "integer"}, "event": OBJECT}},
}
ERROR: Spec = {
    "type": "object",
    "properties": {
        "error": {
            "type": "object",
            "properties": {"code": WORDS, "message": WORDS, "field": {"type": ["string", "null"]}},
            "required": ["code", "message", "field"],
        }
    },
    "required": ["error"],
    "example": {"error": {"code": "invalid_input", "message": "value must be a number (got '0.83')", "field": "value"}},
}
PARAMETER: Spec = {
    "anyOf": [
        {
            "type": "object",
            "properties": {
                "kind": {"type": "string", "enum": ["real", "integer"]},
                "low": NUMBER,
                "high": NUMBER,
                "log": FLAG,
                "unit": WORDS,
            },
            "required": ["kind", "low", "high"],
        },
        {
            "type": "object",
            "properties": {"kind": {"const": "choice"}, "options": {"type": "array"}},
            "required": ["kind", "options"],
        },
    ]
}
SPACE: Spec = {
    "type": "object",
    "description": 'the parameters by name; or {"kind": "points", "names", "rows"}, the only queries that are possible',
    "example": {"temperature": {"kind": "real", "low": 20, "high": 90, "unit": "°C"}},
}
SETTINGS: dict[str, Spec] = {
    "name": NAME,
    "space": SPACE,
    "context": SPACE,
    "goal": {"type": "string", "enum": ["maximize", "minimize"]},
    "floor": NUMBER,
    "ceiling": NUMBER,
    "limits": PAIR,
    "silence": {"type": ["string", "object"]},
    "patience": PATIENCE,
    "late": {"type": "string", "enum": ["use", "ignore"]},
    "algorithm": {"type": ["string", "object"]},
    "repeats": {"type": "string", "enum": ["always", "heard", "never"]},
    "regret": {"type": "string", "enum": ["simple", "cumulative"]},
    "outcomes": {"type": "string", "enum": ["real", "conversion"]},
    "initial": WHOLE,
    "seed": WHOLE,
    "about": WORDS,
    "outcome_name": WORDS,
    "unit": WORDS,
    "by": WORDS,
}
CREATE_EXAMPLE: Spec = {
    "name": "catalyst",
    "space": {"temperature": {"kind": "real", "low": 20, "high": 90}},
    "silence": "unknown",
    "patience": "14d",
}

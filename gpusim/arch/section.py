"""Models what all parts of a GPU file have in common: frozen, no unknown keys, every number with its source.
Leaves out the parts themselves (gpusim.arch.spec, gpusim.arch.instructions)."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler
from pydantic_core import CoreSchema

from gpusim.arch.provenance import SOURCE_KINDS

__all__ = ["Section"]


class Section(BaseModel):
    """A part of a GPU file. Its JSON schema describes the file, where a number is ``{value, source, ref}``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        schema: dict[str, Any] = handler(core_schema)
        target = handler.resolve_ref_schema(schema)
        target["properties"] = {key: _sourced(value) for key, value in target.get("properties", {}).items()}
        return schema


def _sourced(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of a leaf with its source, for numbers and lists of numbers."""
    if not _is_number(schema):
        return schema
    about = {key: schema[key] for key in ("title", "description", "default") if key in schema}
    value = {key: part for key, part in schema.items() if key not in about}
    properties = {"value": value, "source": {"enum": list(SOURCE_KINDS[:4])}, "ref": {"type": "string"}}
    return about | {"type": "object", "properties": properties, "required": ["value", "source"],
                    "additionalProperties": False}


def _is_number(schema: dict[str, Any]) -> bool:
    branches = schema.get("anyOf", [schema])
    items = (branch["items"] if branch.get("type") == "array" else branch for branch in branches)
    return any(isinstance(item, dict) and item.get("type") in ("integer", "number") for item in items)

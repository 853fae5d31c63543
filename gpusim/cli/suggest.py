"""Models ``gpusim suggest``: the best shared-memory layout of a kernel, the proof, and the cycles it saves.
Leaves out the search (gpusim.experiments.suggest)."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from gpusim.cli.options import Jobs, Json, Settings, Target
from gpusim.cli.output import console, print_frame, print_json, print_rows, progress_bar

if TYPE_CHECKING:
    from gpusim.experiments.proof import Proof
    from gpusim.experiments.suggest import Suggestion
    from gpusim.experiments.swizzle_search import Search

__all__ = ["suggest"]


def suggest(
    target: Target,
    settings: Settings = None,
    parameter: Annotated[
        list[str] | None, typer.Option(help="Parameter to choose; default: all named swizzle.")
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="Candidates to show.")] = 8,
    simulate: Annotated[bool, typer.Option(help="Simulate the kernel before and after.")] = True,
    jobs: Jobs = 1,
    json: Json = False,
) -> None:
    """Find a swizzle, and prove it.

    Records the kernel with every swizzle and padding, counts every shared-memory access of every warp and stage, and
    prefers no conflicts, then least shared memory, then fewest instructions.
    """
    from gpusim.experiments.suggest import suggest as find

    with progress_bar(f"searching layouts for {target}") as advance:
        found = find(target, settings or [], parameters=parameter or [], processes=jobs, simulate=simulate,
                     progress=advance)
    if json:
        return print_json(_as_json(found))
    for search in found.searches:
        _print_search(search, top)
    _print_proof(found.proof)
    for sentence in ("", *found.faster(), found.verdict()):
        console().print(sentence, markup=False)


def _print_search(search: Search, top: int) -> None:
    legal = [candidate for candidate in search.candidates if not candidate.refusal]
    shown = [*legal[:top], *(candidate for candidate in legal[top:] if candidate.text == search.before)]
    rows = [(("-> " if c is search.best else "   ") + c.text, c.bank_conflicts, c.shared_bytes, c.instructions,
             c.wavefronts, "present" if c.text == search.before else "") for c in shown]
    title = (f"{search.parameter}: {len(search.candidates)} candidates, {len(legal)} accepted, "
             f"{len(search.conflict_free)} free of conflicts")
    headings = ["Candidate", "Bank Conflicts", "Shared Bytes", "Instructions", "Wavefronts", ""]
    print_rows(title, headings, rows)
    refused = [(len(texts), rule, _examples(texts)) for rule, texts in search.refusals.items()]
    if refused:
        print_rows("Refused", ["Candidates", "Rule", ""], refused)


def _print_proof(proof: Proof) -> None:
    print_frame("Every shared-memory access", proof.table())
    screen = console()
    screen.print(proof.sentence(), markup=False)
    for column, swizzle in proof.formulas.items():
        answer = f"gives {swizzle}" if swizzle else "does not apply"
        case = f"{column.unit_bytes}-byte units in a column of {column.row_bytes}-byte rows"
        screen.print(f"{case}: the closed formula {answer}", markup=False)


def _examples(texts: list[str]) -> str:
    return ", ".join(texts[:3]) + (" ..." if len(texts) > 3 else "")


def _as_json(found: Suggestion) -> dict[str, object]:
    searches = [{"parameter": search.parameter, "before": search.before, "best": search.best.text,
                 "candidates": [asdict(candidate) for candidate in search.candidates]} for search in found.searches]
    formulas = [asdict(column) | {"swizzle": swizzle} for column, swizzle in found.proof.formulas.items()]
    return {
        "name": found.name, "before": asdict(found.before), "after": asdict(found.after),
        "alternatives": [asdict(trial) for trial in found.alternatives], "already_best": found.already_best,
        "conflict_free": found.proof.conflict_free, "proof": found.proof.sentence(),
        "accesses": found.proof.table().to_dict("records"), "closed_formula": formulas, "searches": searches,
        "saved_cycles": found.saved_cycles, "verdict": found.verdict(),
    }

"""The program of Storm's own process: ``storm_worker.py MODEL QUERY ENGINE ANSWER``.

It is started as a file, not as a module, and imports nothing of coreplan.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any


def compute(model: str, query: str, engine: str) -> dict[str, Any]:
    """Let Storm compute the value of a query at the initial state."""
    import stormpy  # type: ignore[import-not-found, import-untyped, unused-ignore]

    start = time.perf_counter()
    program = stormpy.parse_prism_program(model)
    properties = stormpy.parse_properties(query, program)
    if engine == "sparse":
        built = stormpy.build_model(program, properties)
        built_after = time.perf_counter()
        result = stormpy.model_checking(built, properties[0])
        value = result.get_value(built.initial_states[0])
    else:
        built = stormpy.build_symbolic_model(program, properties)
        built_after = time.perf_counter()
        kind = stormpy.Engine.DD if engine == "dd" else stormpy.Engine.HYBRID
        result = stormpy.model_checking(built, properties[0], engine=kind)
        result.filter(stormpy.create_filter_initial_states(built))
        value = result.get_max()
    return {
        "value": float(value),
        "seconds": time.perf_counter() - start,
        "build_seconds": built_after - start,
        "states": int(built.nr_states),
    }


def main(model: str, query: str, engine: str, answer: str) -> None:
    """Write the answer or the error to a file, because Storm prints its own messages."""
    try:
        found = compute(model, query, engine)
    except Exception as error:
        found = {"error": f"{type(error).__name__}: {error}"}
    Path(answer).write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])

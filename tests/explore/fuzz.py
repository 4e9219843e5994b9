"""Fuzz the readers along coverage: ``python -m explore.fuzz [READER ...] --minutes M``.

Each reader has a process of its own, one after the other; they share the time. Findings do not
stop a run: of each kind the smallest input is kept in ``build/fuzz/READER/``, with its traceback.
Inputs that reached new code stay in ``build/fuzz/corpus/READER/`` for the next run.
"""

from __future__ import annotations

import argparse
import gc
import random
import subprocess
import sys
import traceback
from pathlib import Path
from types import FunctionType

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "build" / "fuzz"
LONGEST = 4096
MEMORY_MB = 2048
TIMEOUT = 30


def fuzz_all(names: list[str], minutes: float, seed: int) -> int:
    """Fuzz readers one after the other, each in a process; the number of findings."""
    from explore.readers import READERS

    chosen = names or list(READERS)
    seconds = max(1, round(60 * minutes / len(chosen)))
    found = 0
    more = (f"--seed={seed}", f"--seconds={seconds}")
    for name in chosen:
        before = _findings(name)
        print(f"fuzz {name}: {seconds} s, seed {seed}", flush=True)
        ended = subprocess.run(
            [sys.executable, "-m", "explore.fuzz", f"--one={name}", *more],
            check=False,
        )
        new = [path for path in _findings(name) if path not in before]
        found += len(new)
        for path in new:
            print(f"  found {path.relative_to(ROOT)}")
        if ended.returncode:
            print(f"  ended with {ended.returncode}: out of time or memory, or a crash")
    return found


def _findings(name: str) -> list[Path]:
    return sorted((FOLDER / name).glob("*.bin")) + sorted((FOLDER / name).glob("*-*"))


def fuzz_one(name: str, seconds: int, seed: int) -> None:
    """Fuzz one reader; this process ends with it."""
    import atheris

    from explore.readers import READERS, read_content

    # Not `instrument_imports`: modules that an editable installation finds stay without counters.
    for each in gc.get_objects():
        if isinstance(each, FunctionType) and str(each.__module__).startswith("coreplan"):
            atheris.instrument_func(each)
    reader = READERS[name]
    folder = FOLDER / name
    corpus = FOLDER / "corpus" / name
    for each in (folder, corpus):
        each.mkdir(parents=True, exist_ok=True)
    for number, sample in enumerate(reader.samples()):
        for place in range(len(reader.suffixes)):
            (corpus / f"sample-{number}-{place}").write_bytes(bytes([place]) + sample)

    def test_one_input(data: bytes) -> None:
        if not data:
            return
        try:
            read_content(reader, data[1:], reader.suffixes[data[0] % len(reader.suffixes)])
        except Exception as error:
            keep_finding(folder, data[1:], error)

    longest = max(LONGEST, *(len(sample) + 256 for sample in reader.samples()))
    atheris.Setup(
        [
            f"fuzz-{name}",
            f"-max_total_time={seconds}",
            f"-seed={seed}",
            f"-max_len={longest}",
            f"-rss_limit_mb={MEMORY_MB}",
            f"-timeout={TIMEOUT}",
            f"-artifact_prefix={folder}/",
            "-print_final_stats=1",
            "-verbosity=0",
            str(corpus),
        ],
        test_one_input,
    )
    atheris.Fuzz()


def keep_finding(folder: Path, content: bytes, error: Exception) -> None:
    """Keep an input if none of its kind is there yet, or it is smaller than that."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "coreplan" in frame.filename] or frames
    place = f"{Path(ours[-1].filename).stem}-{ours[-1].lineno}"
    kind = getattr(error, "check", type(error).__name__).replace(" ", "-")
    path = folder / f"{kind}-{place}.bin"
    if path.exists() and path.stat().st_size <= len(content):
        return
    path.write_bytes(content)
    text = "".join(traceback.format_exception(error))
    path.with_suffix(".txt").write_text(text, encoding="utf-8", errors="replace")


def main() -> None:
    """Parse and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("readers", nargs="*", help="which readers; all by default")
    parser.add_argument("--minutes", type=float, default=5.0, help="time for all of them together")
    parser.add_argument("--seed", type=int, default=None, help="random if not given; printed")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=int, default=60, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    seed = random.SystemRandom().randrange(1, 2**31) if asked.seed is None else asked.seed
    if asked.one:
        fuzz_one(asked.one, asked.seconds, seed)
    elif fuzz_all(asked.readers, asked.minutes, seed):
        sys.exit(1)


if __name__ == "__main__":
    main()

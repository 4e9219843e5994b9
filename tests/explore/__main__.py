"""``python -m explore``: run campaigns, or one seed of them again."""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from functools import partial
from pathlib import Path

from explore.corpus import CORPUS
from explore.run import CAMPAIGNS, check_seed, explore


def main(arguments: list[str] | None = None) -> int:
    """Parse and run; 1 if a case failed."""
    parser = argparse.ArgumentParser(prog="explore", description="Look for failures of coreplan.")
    parser.add_argument("--minutes", type=float, default=5.0, help="for all campaigns together")
    parser.add_argument("--seed", type=int, help="of the first case; by default a random number")
    parser.add_argument(
        "--only", default=",".join(CAMPAIGNS), help=f"campaigns, of {', '.join(CAMPAIGNS)}"
    )
    parser.add_argument("--replay", type=int, metavar="SEED", help="check the case of one seed")
    parser.add_argument(
        "--corpus", type=Path, default=CORPUS, help="where failures go (tests/corpus.jsonl)"
    )
    asked = parser.parse_args(arguments)
    names = [name.strip() for name in asked.only.split(",") if name.strip()]
    unknown = [name for name in names if name not in CAMPAIGNS]
    if unknown or not names:
        parser.error(f"--only names {unknown or 'nothing'}; expected some of {list(CAMPAIGNS)}")
    say = partial(print, flush=True)
    if asked.replay is not None:
        failed: Counter[str] = Counter()
        for name in names:
            check_seed(CAMPAIGNS[name], asked.replay, failed, asked.corpus, say)
    else:
        seed = random.SystemRandom().randrange(10**9) if asked.seed is None else asked.seed
        say(f"seed {seed}")
        failed = explore(names, asked.minutes, seed, asked.corpus, say)
    total = failed.total()
    say("no failures" if not total else f"{total} cases failed")
    return 1 if total else 0


if __name__ == "__main__":
    sys.exit(main())

"""Test sets: seeded random problems, those of the paper and our own. See docs/test-sets.md.

Examples
--------
>>> from coreplan import solve
>>> instance = next(generate("rand3", seed=1))
>>> instance.name, len(instance.digest()), solve(instance.problem).value < 0
('rand3-0000', 64, True)
"""

from coreplan.bench.sets.catalogue import TEST_SETS
from coreplan.bench.sets.instance import Instance, count_instances, generate
from coreplan.bench.sets.parameters import Parameter, TestSet
from coreplan.bench.sets.registry import forget_test_set, register_test_set

__all__ = [
    "TEST_SETS",
    "Instance",
    "Parameter",
    "TestSet",
    "count_instances",
    "forget_test_set",
    "generate",
    "register_test_set",
]

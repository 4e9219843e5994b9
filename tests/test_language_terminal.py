"""Plans in the terminal in other languages: all of it is translated, and it fits."""

from __future__ import annotations

import datetime
import gettext
import re
import string
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from rich.cells import cell_len
from rich.text import Text

import coreplan.support.language
from cli_runs import Run, one_json, shell
from coreplan import (
    Calendar,
    Contractor,
    ContractorState,
    Delay,
    Hindrance,
    MaintenanceProblem,
    Policy,
    Result,
    Task,
    read_problem,
    solve,
)
from coreplan.analysis.tree import plan_tree
from coreplan.cli import example_path
from coreplan.domains.maintenance import Closure, close_steps, planned_schedule
from coreplan.domains.maintenance.changes import find_changes
from coreplan.domains.maintenance.decision_rules import DecisionRule, Starts, rules_of
from coreplan.domains.maintenance.influence import Influence, sensitivity
from coreplan.domains.maintenance.old_starts import StartChanges
from coreplan.domains.maintenance.plan_comparison import (
    PlanComparison,
    WorkComparison,
    compare_plans,
)
from coreplan.domains.maintenance.reasons import Cause, Reason, Reasons, Shift, find_reasons
from coreplan.domains.maintenance.timeline import timeline
from coreplan.domains.maintenance.view.changes_text import changes_in_words
from coreplan.domains.maintenance.view.comparison_text import (
    comparison_lines,
    headline,
    move_in_words,
    proof_in_words,
)
from coreplan.domains.maintenance.view.gantt_text import BLOCKS, PLAIN, gantt
from coreplan.domains.maintenance.view.influences import influence_in_words
from coreplan.domains.maintenance.view.money_table import money_table
from coreplan.domains.maintenance.view.reasons_text import reason_in_words, reasons_lines
from coreplan.domains.maintenance.view.rules_text import rule_in_words, rule_lines
from coreplan.model.calendar import ClosedPeriod
from coreplan.policies.graph import plan_graph
from coreplan.solving.result import Status, unproven_team
from coreplan.support.language import NUMBER, number_text, speaking
from coreplan.view.plan_view import view_plan
from coreplan.view.simulation_text import simulation_in_words
from coreplan.view.terminal import READABLE, break_lines

MONDAY = datetime.date(2026, 3, 2)
CALENDAR = Calendar(MONDAY, "week")
OTHERS = ("nl", "de")
RING = example_path("ring_road.yaml")
PROBLEM = read_problem(RING)
assert isinstance(PROBLEM, MaintenanceProblem)
ROBOTS = example_path("two_robots.yaml")


# -- what is shown ---------------------------------------------------------------------------------


@cache
def ring() -> Result:
    """The best plan of the ring road, whose works may be delayed."""
    return solve(PROBLEM)


@cache
def plan() -> Policy:
    """Its policy."""
    policy = ring().policy
    assert policy is not None
    return policy


@cache
def small() -> MaintenanceProblem:
    """Two contractors who hinder each other, and earn something."""
    return MaintenanceProblem(
        (
            Contractor("Ka", (Task("k7", 2, cost=3, revenue=20, window=(0, 3)),)),
            Contractor(
                "Zu",
                (
                    Task("z8", 3, cost=(1.0,) * 4 + (2.0,) * 3, delay=Delay(0.5, 1)),
                    Task("z9", 1, 1),
                ),
            ),
        ),
        horizon=7,
        network=(Hindrance(("Ka/k7", "Zu/z8"), cost=7.5),),
        must_complete=True,
    )


@cache
def busy() -> MaintenanceProblem:
    """The small problem with other numbers, works and rules: everything differs."""
    return MaintenanceProblem(
        (
            Contractor("Ka", (Task("k7", 3, cost=4, revenue=25, delay=Delay(0.25, 2)),)),
            Contractor("Zu", (Task("z8", 3, cost=(3.0,) * 8, window=(1, 4)), Task("z0", 1, 1))),
            Contractor("Qo", (Task("q1", 1, cost=1),)),
        ),
        horizon=8,
        network=(Hindrance(("Ka/k7", "Zu/z8"), cost=9), Hindrance(("Ka/k7", "Qo/q1"), cost=2)),
        closed=(Closure(6, 6), Closure(2, 3, "start")),
    )


@cache
def compared(reverse: bool = False) -> PlanComparison:
    """The best plans of both problems, one as it was given."""
    mine = solve(small())
    theirs = solve(busy())
    assert mine.policy is not None
    return compare_plans(theirs, mine.policy) if reverse else compare_plans(mine, theirs)


@cache
def reasons() -> Reasons:
    """The reasons for the starts of the ring road."""
    return find_reasons(plan())


def plains(lines: list[Text]) -> list[str]:
    """The characters of texts."""
    return [line.plain for line in lines]


def chart(width: int = 80, calendar: Calendar | None = CALENDAR, **options: Any) -> list[str]:
    """The chart of the ring road."""
    works, names = timeline(plan()).works, PROBLEM.agent_names
    horizon = PROBLEM.horizon
    return plains(gantt(works, names, 0, horizon, width, calendar=calendar, **options))


def charts() -> list[str]:
    """Charts with and without dates, with closed steps, and of a plan that has begun."""
    closed = [Closure(2, 3), Closure(5, 6, "start")]
    lines = [*chart(), *chart(calendar=None, closed=closed), *chart(marks=PLAIN)]
    long = MaintenanceProblem((Contractor("Ka", (Task("k7", 2, 1, revenue=9),)),), 90)
    policy = solve(long).policy
    assert policy is not None
    for calendar in (None, CALENDAR, Calendar(MONDAY, "day")):
        lines += plains(gantt(timeline(policy).works, ["Ka"], 0, 90, 40, calendar=calendar))
    begun = {
        "Ka": ContractorState(done=("k7",)),
        "Zu": ContractorState(doing="z8", remaining=2),
    }
    optional = replace(small(), must_complete=False)
    policy = solve(optional, stage=3, state=begun).policy
    assert policy is not None
    names = (*optional.agent_names, "Nobody")
    lines += plains(gantt(timeline(policy).works, names, 3, 7, 80))
    some = replace(timeline(policy).works[1], started=0.5, under_way=False, first_start=1)
    never = replace(some, first_start=None, last_start=None)
    return lines + plains(gantt([replace(some, last_start=2), never], names, 0, 7, 80))


def tables() -> list[str]:
    """Costs that are hindrance, too, and a plan that earns something."""
    lines = []
    bad = replace(PROBLEM, must_complete=False).read_plan(
        {"Noord Infra": {"bridge deck": 0}, "Van Dijk": {"ring east": 0}}
    )
    earning = solve(small()).policy
    assert earning is not None
    for policy in (plan(), bad, earning):
        assert isinstance(policy.problem, MaintenanceProblem)
        lines += plains(money_table(policy.problem, timeline(policy).money, 80))
    many = MaintenanceProblem(
        tuple(Contractor(f"Z{k}", (Task("w", 1, cost=1, window=(0, 0)),)) for k in range(11)),
        2,
        tuple(Hindrance((f"Z{k}/w", f"Z{k + 1}/w"), cost=1) for k in range(10)),
        must_complete=True,
    )
    policy = solve(many).policy
    assert policy is not None
    return lines + plains(money_table(many, timeline(policy).money, 80))


EARLY, LATE = Starts(2, 2, 2.0, 0.0), Starts(4, 4, 4.0, 0.0)
SPREAD, NEVER = Starts(4, 6, 4.7, 0.25), Starts(None, None, 7.0, 1.0)
RULE = DecisionRule("Ka", "k7", 1, False, "Zu", "z8", 0.3, 0.3, True, LATE, EARLY)


def every_rule(calendar: Calendar | None) -> list[str]:
    """All kinds of sentences of rules for delays."""
    pairs = [(LATE, EARLY), (EARLY, LATE), (SPREAD, EARLY), (EARLY, SPREAD)]
    pairs += [(NEVER, LATE), (SPREAD, NEVER)]
    rules = [replace(RULE, delayed=late, on_time=usual) for late, usual in pairs]
    rules += [replace(RULE, several_starts=True, always=False)]
    return [rule_in_words(rule, small(), calendar) for rule in rules]


def rules() -> list[str]:
    """The rules of a plan, of a part of its courses, and of a plan without any."""
    found = rules_of(PROBLEM, plan_graph(plan()))
    lines = []
    for part in (found, replace(found, covered=0.5)):
        lines += plains(rule_lines(PROBLEM, part, CALENDAR, 3))
        lines += plains(rule_lines(PROBLEM, replace(part, rules=())))
    return lines + every_rule(None) + every_rule(CALENDAR)


KINDS = ("window", "delay", "price", "work")


def every_reason(calendar: Calendar | None) -> list[str]:
    """All kinds of sentences of reasons."""
    own, other = ("Ka/k7",), ("Zu/z8",)
    causes = [Cause(kind, names, 0.0) for kind in KINDS for names in (own, other)]
    causes += [Cause("hindrance", (*own, *other), 2.0), Cause("closed", ("Ostern",), 0.0)]
    shifts = [Shift(1, True, 5.0, 5.0, cause, True) for cause in causes]
    shifts += [Shift(1, True, 5.0, 5.0, None, True), Shift(1, True, 0.0, 0.0)]
    shifts += [Shift(1, True, low, high) for low, high in ((1.0, 2.0), (0.0, 2.0))]
    shifts += [Shift(1, True, 1.0), Shift(1, True), Shift(1, False)]
    hard = ("begin", "end", "under_way", "must_complete", "window")
    shifts += [Shift(1, False, cause=Cause(kind, own)) for kind in hard]
    reasons = [Reason("Ka", "k7", 2, shift, shift) for shift in shifts]
    reasons += [Reason("Ka", "k7", 2, Shift(1, True, 0.0, 0.0), shifts[0], "z8")]
    return [reason_in_words(reason, calendar) for reason in reasons]


def why() -> list[str]:
    """The reasons for the starts of a plan, and all kinds of sentences."""
    lines = reasons_lines(reasons(), 80, CALENDAR)
    lines += reasons_lines(replace(reasons(), complete=False), 80)
    lines += reasons_lines(Reasons((), True), 80)
    for calendar in (None, CALENDAR, Calendar(MONDAY, "day")):
        lines += every_reason(calendar)
    return lines


def changes() -> list[str]:
    """How much an old plan changes, with and without a price."""
    lines = []
    for calendar in (None, CALENDAR, Calendar(MONDAY, "day")):
        for size in (1.0, 2.5):
            lines += changes_in_words(StartChanges(2, 7, size), 1.0, -509.0, calendar)
        lines += changes_in_words(StartChanges(2, 7, 3.0), 1.0, 509.0, calendar)
    return lines


def comparison(width: int = 80) -> list[str]:
    """Compared plans, for problems that differ in everything."""
    lines = []
    for both in (compared(), compared(reverse=True)):
        for calendar in (None, CALENDAR):
            lines += plains(comparison_lines(both, width, calendar))
    same = compare_plans(plan(), ring())
    lines += plains(comparison_lines(same, width))
    unknown = replace(same, old=replace(same.old, times=None))
    lines += [headline(unknown), headline(replace(unknown, new=unknown.old))]
    lines += plains(comparison_lines(unknown, width))
    stopped = replace(same.new, result=replace(ring(), status=Status.TIME_LIMIT))
    plans = (compared().old, compared(reverse=True).new, stopped)
    return lines + [proof_in_words(each, which) for each in plans for which in ("old", "new")]


MOVES = ("moved", "shifted", "resized", "added", "removed", "planned", "dropped", "same")


def moves() -> list[str]:
    """All that can happen to a work."""
    lines = []
    for kind in MOVES:
        one = WorkComparison("Ka", "k7", kind, 3, 1, 4, 2, 3.0, 1.25)
        other = WorkComparison("Ka", "k7", kind, 1, 3, 2, 4, 1.25, 3.0)
        for each in (one, other, replace(one, old_end=None)):
            lines += [move_in_words(each, calendar) for calendar in (None, CALENDAR)]
    return lines


def courses() -> list[str]:
    """Courses of a plan, and its tree."""
    late = planned_schedule(plan(), {"AquaWegen/sluice road": "delayed"})
    works = [replace(late.works[0], under_way=True, completed=False), *late.works[1:]]
    works.append(replace(works[1], given=True, delayed=False))
    works.append(replace(works[1], delayed=True))
    agents = (*late.agents, "Nobody")
    more = replace(late, works=tuple(works), agents=agents, unstarted=("Ka/k7",))
    robots = solve(read_problem(ROBOTS)).policy
    assert robots is not None
    course = planned_schedule(robots)
    lines = [*str(late).split("\n"), *str(more).split("\n"), *str(course).split("\n")]
    lines += [*str(plan_tree(plan(), most_nodes=12)).split("\n"), *str(robots.tree()).split("\n")]
    return lines + [
        str(line) for line in view_plan(robots.problem, robots).lines(80, None, None, 8)
    ]


def explanations() -> list[str]:
    """Decisions with alternatives, with overlaps, in a plan that has begun, and of robots."""
    policy = solve(small()).policy
    robots = solve(read_problem(ROBOTS)).policy
    assert policy is not None
    assert robots is not None
    bad = small().read_plan({"Ka": {"k7": 0}, "Zu": {"z8": 0, "z9": 4}})
    shown = [each.explain(0) for each in (plan(), policy, bad, robots)]
    shown += [
        bad.explain(situation.stage, situation.state)
        for situation in plan_graph(bad).situations
        if situation.action
    ]
    about = [
        replace(
            each,
            exact=False,
            alternatives=tuple(replace(a, exact=False) for a in each.alternatives),
        )
        for each in shown
    ]
    earns = replace(about[1], value=12.0, low=11.0, high=13.0)
    texts = [*shown, *about, earns, replace(earns, exact=True)]
    return [line for text in texts for line in str(text).split("\n")]


def simulations() -> list[str]:
    """Simulations of plans that cost or earn something, and of robots."""
    robots = solve(read_problem(ROBOTS)).policy
    earning = solve(small()).policy
    assert robots is not None
    assert earning is not None
    shown = plan().simulate(runs=300)
    lines = []
    for calendar in (None, CALENDAR, Calendar(MONDAY, "day")):
        lines += simulation_in_words(shown, calendar)
    for policy in (earning, robots):
        found = policy.simulate(runs=50)
        lines += replace(found, asked=100).summary().split("\n")
    return lines


def influences() -> list[str]:
    """Analyses of sensitivity, complete and stopped, and all kinds of sentences."""
    lines = []
    for relax in (False, True):
        found = sensitivity(small(), relax=relax)
        lines += found.summary().split("\n")
    for status in Status:
        part = replace(found, status=status, influences=found.influences)
        lines += part.summary(1).split("\n")
    stopped = replace(found.influences[0], examined=False, low=-2.0, high=3.0, paid=1.0)
    solved = replace(found.result, status=Status.TIME_LIMIT)
    part = replace(found, status=Status.TIME_LIMIT, influences=(stopped,), result=solved)
    lines += part.summary().split("\n")
    lines += replace(part, influences=()).summary().split("\n")
    inf = float("inf")
    bounds = [(0, 0), (3, 3), (-3, -3), (-inf, 3), (2, inf), (-inf, inf), (-2, 3), (-3, -2)]
    bounds += [(0, 3), (1, 3)]
    for low, high in bounds:
        for value in (-300, 300):
            for change in find_changes(busy(), ("hindrance", "windows", "delays")):
                text = influence_in_words(Influence(change, low, high, True), value, CALENDAR)
                lines.append(text)
    return lines


SHOWN: dict[str, Callable[[], list[str]]] = {
    "charts": charts,
    "tables": tables,
    "rules": rules,
    "reasons": why,
    "changes": changes,
    "comparison": comparison,
    "moves": moves,
    "courses": courses,
    "explanations": explanations,
    "simulations": simulations,
    "influences": influences,
}


# -- all is translated -----------------------------------------------------------------------------


class Hidden(gettext.NullTranslations):
    """A language without Latin letters: what still has some is not translated."""

    def gettext(self, message: str) -> str:
        """Replace all letters, but no names in braces."""
        parts = []
        for text, name, spec, _ in string.Formatter().parse(message):
            parts.append(re.sub("[A-Za-z]", "ж", text))
            if name is not None:
                parts.append("{" + name + (f":{spec}" if spec else "") + "}")
        return "".join(parts)

    def ngettext(self, one: str, many: str, number: int) -> str:
        """The same."""
        return self.gettext(one if number == 1 else many)

    def pgettext(self, context: str, message: str) -> str:
        """The same; marks of numbers stay."""
        return message if context == NUMBER else self.gettext(message)


NAMES = sorted(
    {
        *(word for each in PROBLEM.contractors for word in each.name.split()),
        *(
            word
            for each in PROBLEM.contractors
            for task in each.tasks
            for word in task.name.split()
        ),
        *("Ka", "Zu", "Qo", "k7", "z8", "z9", "z0", "q1", "Nobody", "Ostern", "r1", "r2"),
        *("rewards[0] of", "rewards[1] of", "rewards[2] of", "go", "wait", "s0", "s1", "u0", "u1"),
        *("Z10", *(f"Z{k}" for k in range(10)), "w"),
    },
    key=lambda name: -len(name),
)
"""Words of names in the problems: they are the same in every language."""


def without_names(text: str) -> str:
    """A text with a dot for every word of a name."""
    for name in NAMES:
        text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "·", text)
    return text


@pytest.mark.parametrize("what", SHOWN)
def test_no_english_is_left(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every word goes through the catalogue: in a language without Latin letters none is left."""
    hidden = Hidden()
    monkeypatch.setattr(coreplan.support.language, "_present_catalogue", lambda: hidden)
    text = "\n".join(map(without_names, SHOWN[what]()))
    assert "ж" in text
    assert not re.findall(r".{0,40}[A-Za-z]{2,}.{0,40}", text)


@pytest.mark.parametrize("what", SHOWN)
@pytest.mark.parametrize("language", OTHERS)
def test_lines_in_both_languages_are_names_and_numbers(what: str, language: str) -> None:
    """A line that is the same in English has only names and numbers; afterwards all is English."""
    english = SHOWN[what]()
    with speaking(language, "EUR"):
        lines = SHOWN[what]()
    # The time that a simulation takes is another one.
    seconds = re.compile(r"[0-9.e-]+ s$")
    assert [seconds.sub("", line) for line in SHOWN[what]()] == [
        seconds.sub("", line) for line in english
    ]
    same = set(english) & set(lines)
    left = {without_names(line) for line in same}
    assert not {line for line in left if re.search("[A-Za-z]{2,}", line)}
    assert any("€" in line for line in lines) or what in ("charts", "courses", "moves", "rules")


# -- what is said ----------------------------------------------------------------------------------


SAID = {
    "charts": {
        "nl": ["vanaf ", "× gesloten", "- geen begin", "per kolom: ", "begin", "bezig"],
        "de": ["ab ", "× gesperrt", "- kein Beginn", "je Spalte: ", "Beginn", "läuft"],
    },
    "tables": {
        "nl": ["verwacht", "totale kosten", "levert totaal op", "in totaal", "hinder: Z0/w + Z1/w"],
        "de": ["erwartet", "Gesamtkosten", "Gesamtertrag", "insgesamt", "Behinderung: Z0/w + Z1/w"],
    },
    "rules": {
        "nl": [
            "Wat te doen bij vertragingen:",
            "als k7 vertraagd is (30%): Zu wacht 2 stappen met z8 en begint in stap 4 in plaats "
            "van in stap 2",
            "als k7, begonnen op 9 mrt 2026, vertraagd is (30%): Zu wacht 2 weken met z8 en begint "
            "op 30 mrt 2026 in plaats van op 16 mrt 2026, tenzij z8 al begonnen is",
        ],
        "de": [
            "Was bei Verzögerungen zu tun ist:",
            "wenn k7 verzögert ist (30\xa0%): Zu wartet 2 Schritte mit z8 und beginnt in Schritt 4 "
            "statt in Schritt 2",
            "wenn k7, begonnen am 9. März 2026, verzögert ist (30\xa0%): Zu wartet 2 Wochen mit z8 "
            "und beginnt am 30. März 2026 statt am 16. März 2026, es sei denn, z8 hat schon "
            "begonnen",
        ],
    },
    "reasons": {
        "nl": [
            "Waarom op dat moment:",
            "Ka/k7 begint in stap 2: een stap eerder kost €\xa05,00 meer, vanwege het tijdvenster; "
            "een stap later kost €\xa05,00 meer, vanwege het tijdvenster.",
            "eerder beginnen kan niet, omdat het plan dan begint",
        ],
        "de": [
            "Warum zu diesem Zeitpunkt:",
            "Ka/k7 beginnt am 16. März 2026: eine Woche früher kostet 5,00\xa0€ mehr, wegen des "
            "Zeitfensters; eine Woche später kostet 5,00\xa0€ mehr, wegen des Zeitfensters.",
            "ein früherer Beginn ist nicht möglich, weil der Plan dann beginnt",
        ],
    },
    "changes": {
        "nl": [
            "vergeleken met het oude plan: 2 werken verschoven, 7 als voorheen; alle beginmomenten "
            "samen verschillen naar verwachting 2,5 weken",
            "wijzigingen kosten €\xa02,50 van de €\xa0511,50 (€\xa01,00 voor elke week); het "
            "plan zelf kost €\xa0509,00",
        ],
        "de": [
            "verglichen mit dem alten Plan: 2 Maßnahmen verschoben, 7 wie zuvor; alle Termine "
            "zusammen weichen voraussichtlich um 2,5 Tage ab",
            "Änderungen kosten 2,50\xa0€ der 511,50\xa0€ (1,00\xa0€ für jeden Tag); der Plan "
            "selbst kostet 509,00\xa0€",
        ],
    },
    "comparison": {
        "nl": ["Het nieuwe plan ", "verwachte kosten", "Gewijzigd in de gegevens:", "Geen werk"],
        "de": ["Der neue Plan ", "erwartete Kosten", "Geänderte Ausgangsdaten:", "Keine Maßnahme"],
    },
    "moves": {
        "nl": ["2 weken eerder", "gemiddeld 1,8 weken later", "eindigt 2 stappen later"],
        "de": ["2 Wochen früher", "im Mittel 1,8 Wochen später", "endet 2 Schritte später"],
    },
    "courses": {
        "nl": ["een verloop van het plan, met een kans van ", "vertraagd", "80%: r1 komt in s1"],
        "de": [
            "ein Verlauf des Plans, mit einer Wahrsch",
            "verzögert",
            "80\xa0%: r1 gelangt zu s1",
        ],
    },
    "explanations": {
        "nl": [
            "Ka: k7 beginnen, Zu: ",
            "Zu: werkt aan z8, nog 2 stappen",
            "Ka: wachten: ",
            "Ka: doorgaan, Zu: doorgaan; vanaf hier",
            "Ka/k7 en Zu/z8 lopen tegelijk, ten minste 2 stappen lang: hinder kost €\xa07,50 "
            "per stap",
            "het plan: r1: go, r2: wait; verwachte waarde vanaf hier: 12,52",
        ],
        "de": [
            "Ka: k7 beginnen, Zu: ",
            "Zu: arbeitet an z8, noch 2 Schritte",
            "Ka: warten: ",
            "Ka: weitermachen, Zu: weitermachen; ab hier",
            "der Plan: r1: go, r2: wait; erwarteter Wert ab hier: 12,52",
        ],
    },
    "simulations": {
        "nl": [
            "300 simulaties met startgetal 1",
            "gemiddelde kosten €\xa05",
            "voltooid in de week",
        ],
        "de": ["300 Simulationen mit Startwert 1", "mittlere Kosten 5", "fertig in Woche ab"],
    },
    "influences": {
        "nl": [
            "Als Ka/k7 op elk moment kan beginnen (nu stap 0 t/m 3), levert het beste plan ",
            "Zonder de regel dat Ka/k7 en Zu/z8 elkaar hinderen (€\xa07,50 per stap), ",
        ],
        "de": [
            "Wenn Ka/k7 jederzeit beginnen kann (jetzt Schritt 0 bis 3), ",
            "Ohne die Regel, dass Ka/k7 und Zu/z8 einander behindern (7,50\xa0€ je Schritt), ",
        ],
    },
}


@pytest.mark.parametrize("what", SHOWN)
@pytest.mark.parametrize("language", OTHERS)
def test_sentences(what: str, language: str) -> None:
    """Sentences as people say them, with their numbers, dates and amounts."""
    with speaking(language, "EUR"):
        text = "\n".join(SHOWN[what]())
    for sentence in SAID[what][language]:
        assert sentence in text


def test_plans_that_are_not_proven_best() -> None:
    """The remark of a search on contractors whose plans are not proven best."""
    words = PROBLEM.words
    english = "not yet proven best: 2 contractors that influence each other, 'Ka' among them; "
    assert unproven_team(words, ["Ka", "Zu"], 2.5).startswith(english)
    with speaking("nl", "EUR"):
        text = unproven_team(words, ["Ka", "Zu"], 2.5)
    assert "2 aannemers die elkaar beïnvloeden, onder wie 'Ka'" in text
    assert text.endswith("ten hoogste €\xa02,5 winnen")


def test_values_that_are_no_money_have_no_currency() -> None:
    """Rewards of robots are no amounts of money, whatever the currency is."""
    robots = solve(read_problem(ROBOTS)).policy
    assert robots is not None
    with speaking("nl", "EUR"):
        text = f"{robots.explain(0)}\n{robots.simulate(runs=50).summary()}"
        assert number_text(1.5) in "1,5"
    assert "12,5" in text
    assert "€" not in text


def test_signs_of_differences() -> None:
    """A positive difference has its sign where a negative one has it."""
    with speaking("nl", "EUR"):
        lines = comparison()
    cells = [line.split("  ")[-1].strip() for line in lines]
    assert any(cell.startswith("€\xa0+") for cell in cells)
    assert any(cell.startswith("€\xa0-") for cell in cells)


def test_closed_periods_in_dates_of_a_language() -> None:
    """Closed periods without names are named by their days, or by their steps."""
    closed = (ClosedPeriod("", datetime.date(2026, 3, 9), datetime.date(2026, 3, 22)),)
    with speaking("de"):
        problem = close_steps(small(), replace(CALENDAR, closed=closed))
        [there] = problem.closed
        assert there.name == "9. März – 22. März 2026"
        text = "\n".join(plains(comparison_lines(compared(), 80)))
    assert "Sperrzeiten: Schritt 6; Schritt 2 bis 3 statt keine" in text


# -- it fits ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("language", OTHERS)
def test_lines_fit(language: str, width: int) -> None:
    """Longer words do not make charts, tables and sentences wider than the terminal."""
    with speaking(language, "EUR"):
        lines = [*chart(width), *chart(width, None), *chart(width, marks=PLAIN)]
        lines += reasons_lines(reasons(), width, CALENDAR)
        policy = plan()
        lines += plains(money_table(PROBLEM, timeline(policy).money, width))
        if width >= 80:
            lines += plains(comparison_lines(compared(), width, CALENDAR))
            lines += plains(comparison_lines(compared(reverse=True), width))
            lines += simulation_tables()
        for line in rule_lines(PROBLEM, rules_of(PROBLEM, plan_graph(policy))):
            lines += plains(break_lines(line, width))
    assert not [line for line in lines if cell_len(line) > width]


def simulation_tables() -> list[str]:
    """The tables of a simulation, without the sentences above them."""
    lines = simulation_in_words(plan().simulate(runs=300), CALENDAR)
    return lines[lines.index("") :]


@pytest.mark.parametrize("language", OTHERS)
def test_columns_of_the_chart(language: str) -> None:
    """The bars of all works begin in one column, and their starts stand in another."""
    with speaking(language):
        head, *rows = chart(120)
        title = {"nl": "begin", "de": "Beginn"}[language]
    at = head.index(title)
    works = [row for row in rows if row.startswith("  ")]
    assert works
    for row in works:
        assert row[at - 1] == " "
        assert row[at] != " "
        assert set(row[at - 3]) <= {*BLOCKS.chances, BLOCKS.sure, BLOCKS.extra, BLOCKS.idle}


@pytest.mark.parametrize("language", OTHERS)
def test_numbers_of_steps_stand_above_their_columns(language: str) -> None:
    """A title that is longer than all names moves the numbers and the bars alike."""
    policy = solve(small()).policy
    assert policy is not None
    with speaking(language):
        head, *rows = plains(gantt(timeline(policy).works, small().agent_names, 0, 7, 80))
    first = head.index(" 0 ") + 1
    bars = [row for row in rows if row.startswith("  ")]
    assert len(bars) == 3
    marks = {*BLOCKS.chances, BLOCKS.sure, BLOCKS.extra, BLOCKS.idle}
    for row in bars:
        assert row[first - 1] == " "
        assert row[first] in marks


# -- the command line ------------------------------------------------------------------------------


def test_commands(run: Run) -> None:
    """Commands speak the language that is asked for, and English afterwards."""
    options = ("--start-date", "2026-03-02", "--language", "nl", "--currency", "EUR")
    keep = ("--keep", example_path("ring_road_schedule.yaml"), "--change-cost", "5", "--why")
    code, out, err = run("plan", RING, *options, *keep)
    assert (code, err) == (0, "")
    for text in (
        "Wat te doen bij vertragingen",
        "vergeleken met het oude plan",
        "Waarom op dat moment:",
    ):
        assert text in out
    assert "kosten van\xa0" not in out
    _, out, _ = run("plan", RING)
    assert "What to do about delays" in out


@pytest.mark.parametrize("command", ["plan", "simulate", "explain", "sensitivity"])
def test_json_is_the_same(run: Run, command: str) -> None:
    """Keys and values of JSON do not depend on the language."""
    english = one_json(run(command, RING, "--json").out)
    other = one_json(run(command, RING, "--json", "--language", "de", "--currency", "EUR").out)

    def plain(value: Any) -> Any:
        """The value without times and memory, which differ from run to run, and remarks."""
        if isinstance(value, dict):
            left = {"seconds", "statistics", "overlaps"}
            return {key: plain(each) for key, each in value.items() if key not in left}
        return list(map(plain, value)) if isinstance(value, list) else value

    assert plain(english) == plain(other)


def test_a_terminal_without_umlauts() -> None:
    """Letters that a terminal lacks are written with others, not as codes; nothing breaks."""
    env = {"PYTHONIOENCODING": "ascii", "COLUMNS": "80"}
    arguments = ("plan", RING, "--language", "de", "--currency", "EUR", "--why")
    done = shell(*arguments, "--start-date", "2026-03-02", env=env)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.isascii()
    for text in ("9 Massnahmen", "Verzoegerung 35 %", "2. Maerz 2026", "508,76 EUR", "##"):
        assert text in done.stdout
    assert "\\x" not in done.stdout
    assert "\\u" not in done.stdout


def test_letters_that_nothing_resembles() -> None:
    """Other letters are still written as codes, and JSON is never changed."""
    assert "Straße 日 5\xa0€".encode("ascii", READABLE) == b"Strasse \\u65e5 5 EUR"
    assert "Straße €".encode("latin-1", READABLE) == "Straße EUR".encode("latin-1")

"""Draws the pictures of docs/examples.md into docs/images. tools/draw-docs runs it.

Each picture shows plans of dynamic programming, which takes the first of equally good actions, and
runs with a fixed seed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from coreplan import solve
from coreplan.policies.policy import Policy
from coreplan.view.svg import Drawing, decimal, safe, text_width

EXAMPLES = Path(__file__).parents[1] / "examples"
sys.path.append(str(EXAMPLES))

import batteries  # noqa: E402 - examples are no package
import sensors  # noqa: E402
import warehouse  # noqa: E402

BLUE, RED, GREY, DARK, PALE, GREEN = (
    "#4477AA",
    "#CC3311",
    "#888888",
    "#333333",
    "#EEEEEE",
    "#228833",
)
SIZE = 12


class Picture:
    """An SVG picture that grows by shapes."""

    def __init__(self, width: float, height: float) -> None:
        self._width, self._height = width, height
        self._parts: list[str] = []

    def rect(self, x: float, y: float, width: float, height: float, **style: object) -> None:
        """Add a rectangle."""
        self._add("rect", x=x, y=y, width=width, height=height, **style)

    def line(self, points: Iterable[tuple[float, float]], **style: object) -> None:
        """Add a line through points."""
        path = " ".join(f"{decimal(x)},{decimal(y)}" for x, y in points)
        self._add("polyline", **{"points": path, "fill": "none", "stroke": DARK, **style})

    def area(self, points: Iterable[tuple[float, float]], **style: object) -> None:
        """Add a filled shape."""
        path = " ".join(f"{decimal(x)},{decimal(y)}" for x, y in points)
        self._add("polygon", points=path, **style)

    def circle(self, x: float, y: float, radius: float, **style: object) -> None:
        """Add a circle."""
        self._add("circle", cx=x, cy=y, r=radius, **style)

    def text(self, x: float, y: float, text: str, **style: object) -> None:
        """Add a text; by default it begins at x."""
        self._add("text", text, **{"x": x, "y": y, "fill": DARK, **style})

    def save(self, path: Path) -> None:
        """Write the picture."""
        size = f'width="{decimal(self._width)}" height="{decimal(self._height)}"'
        view = f'viewBox="0 0 {decimal(self._width)} {decimal(self._height)}"'
        fonts = f'font-family="\'DejaVu Sans\', Verdana, Arial, sans-serif" font-size="{SIZE}"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} {view} {fonts}>'
        background = '<rect width="100%" height="100%" fill="white"/>'
        Drawing("\n".join([head, background, *self._parts, "</svg>\n"])).save(path)

    def _add(self, kind: str, inside: str = "", **style: object) -> None:
        said = " ".join(
            f'{name.replace("_", "-")}="{decimal(v) if isinstance(v, int | float) else v}"'
            for name, v in style.items()
        )
        self._parts.append(
            f"<{kind} {said}>{safe(inside)}</{kind}>" if inside else f"<{kind} {said}/>"
        )


def plan(problem: object) -> Policy:
    """The best policy."""
    policy = solve(problem, algorithm="dp").policy  # type: ignore[arg-type]
    assert policy is not None
    return policy


# -- warehouse ------------------------------------------------------------------------------------

CELL = 86


def draw_warehouse(path: Path) -> None:
    """Draw the map, and where two robots are at each step of one run."""
    problem = warehouse.TWO
    run = plan(problem).simulate(2, seed=2, keep=1).trajectories[0]
    rows = problem.map.strip().splitlines()
    picture = Picture(40 + CELL * len(rows[0]) + 330, 40 + CELL * len(rows))
    places = {name: place for place, name in problem.places.items()}
    for row, line in enumerate(rows):
        for column, letter in enumerate(line):
            x, y = 20 + column * CELL, 20 + row * CELL
            picture.rect(x, y, CELL, CELL, fill=DARK if letter == "#" else "white", stroke=GREY)
            if letter not in ".#":
                what = "dock" if any(letter == robot.dock for robot in problem.robots) else "shelf"
                picture.text(x + 6, y + 17, f"{letter} ({what})", fill=GREY)
    left = 40 + CELL * len(rows[0])
    for k, (robot, colour) in enumerate(zip(problem.robots, (BLUE, RED), strict=True)):
        path_of = [str(state[robot.name]) for state in run.states]
        stays: list[tuple[str, int, int]] = []
        for step, state in enumerate(path_of):
            place = state.removesuffix(", loaded")
            if stays and stays[-1][0] == place:
                stays[-1] = (place, stays[-1][1], step)
            else:
                stays.append((place, step, step))
        spots = []
        visits: dict[str, int] = {}
        for place, first, last in stays:
            row, column = places[place]
            again = visits[place] = visits.get(place, -1) + 1
            x = 20 + (column + 0.3 + 0.42 * k) * CELL
            y = 20 + (row + 0.48 + 0.34 * again) * CELL
            spots.append((x, y, f"{first}" if first == last else f"{first}–{last}"))
        picture.line([(x, y) for x, y, _ in spots], stroke=colour, stroke_width=2, opacity=0.45)
        for x, y, label in spots:
            width = max(20.0, text_width(label, SIZE) + 6)
            picture.rect(x - width / 2, y - 10, width, 20, rx=10, fill=colour)
            picture.text(x, y + 4, label, fill="white", text_anchor="middle")
        top = 40 + 62 * k
        picture.rect(left, top - 14, 18, 18, rx=9, fill=colour)
        picture.text(left + 26, top, f"{robot.name}: dock {robot.dock}, shelf {robot.shelf}")
        moves = sum(action[robot.name] != "stay" for action in run.actions)
        picture.text(left + 26, top + 18, f"{moves} moves; numbers are steps", fill=GREY)
    picture.text(left, 40 + 62 * 2, f"this run earns {run.total:g}")
    picture.text(
        left, 40 + 62 * 2 + 18, f"best plan: {plan(problem).evaluate():.2f} expected", fill=GREY
    )
    picture.save(path)


# -- sensors --------------------------------------------------------------------------------------


def draw_sensors(path: Path) -> None:
    """Draw a row of sensors and its target at each step of one run, from top to bottom."""
    count, targets, horizon = 4, 1, 6
    problem = sensors.sensors(count, targets, horizon)
    run = plan(problem).simulate(2, seed=3, keep=1).trajectories[0]
    gap, high, left, top = 110, 44, 90, 62
    width = left + gap * (count - 1) + 210
    picture = Picture(width, top + high * horizon + 6)
    for k in range(count):
        picture.text(left + gap * k, 24, f"sensor {k + 1}", text_anchor="middle")
    picture.text(left + gap * (count - 1) + 80, 24, "reward")
    for step in range(horizon):
        y = top + high * step
        state, action = run.states[step], run.actions[step]
        picture.text(12, y + 4, f"step {step}", fill=GREY)
        picture.line([(left, y), (left + gap * (count - 1), y)], stroke=PALE, stroke_width=2)
        looking = {}
        for k in range(count):
            name = f"sensor {k + 1}"
            side, charge = state[name]
            x, sign = left + gap * k, 1 if side == "right" else -1
            looking[k] = side if action[name] == "look" else ""
            if looking[k]:
                beam = [(x, y), (x + sign * 42, y - 13), (x + sign * 42, y + 13)]
                picture.area(beam, fill=BLUE, opacity=0.25)
            picture.area(
                [(x + sign * 12, y), (x - sign * 8, y - 9), (x - sign * 8, y + 9)],
                fill=BLUE if looking[k] else GREY,
            )
            for unit in range(2):
                full = unit < charge
                picture.rect(
                    x - 9 + 10 * unit, y + 12, 8, 5, fill=GREEN if full else "white", stroke=GREY
                )
        for k in range(targets):
            place = int(state[f"target {k + 1}"])
            tracked = looking[place] == "right" and looking[place + 1] == "left"
            x = left + gap * (place + 0.5)
            picture.circle(x, y, 8, fill=RED if tracked else "white", stroke=RED, stroke_width=2)
        picture.text(left + gap * (count - 1) + 80, y + 4, f"{run.rewards[step]:+g}")
    picture.save(path)


# -- batteries ------------------------------------------------------------------------------------

RUNS = 1000


def draw_batteries(path: Path) -> None:
    """Draw what four households draw together: with the plan, and if each plans for itself."""
    problem = batteries.FOUR
    together = draws_of(plan(problem), problem)
    alone = draws_of(plan(problem.independent), problem)
    left, top, high, step = 60, 46, 190, 46
    stages = problem.horizon
    most = max(*together, *alone, problem.limit) + 1
    picture = Picture(left + step * stages + 190, top + high + 120)

    def y_of(draw: float) -> float:
        return top + high * (1 - draw / most)

    for tick in range(0, int(most) + 1, 2):
        picture.line([(left, y_of(tick)), (left + step * stages, y_of(tick))], stroke=PALE)
        picture.text(left - 8, y_of(tick) + 4, f"{tick}", text_anchor="end", fill=GREY)
    picture.text(12, 24, "units drawn by four households together, mean of 1,000 runs")
    for stage, draw in enumerate(together):
        x = left + step * stage
        picture.rect(x + 5, y_of(draw), step - 10, top + high - y_of(draw), fill=BLUE, opacity=0.75)
    stairs: list[tuple[float, float]] = []
    for stage, draw in enumerate(alone):
        stairs += [(left + step * stage, y_of(draw)), (left + step * (stage + 1), y_of(draw))]
    picture.line(stairs, stroke=RED, stroke_width=2)
    limit = y_of(problem.limit)
    picture.line(
        [(left, limit), (left + step * stages, limit)], stroke=DARK, stroke_dasharray="6 4"
    )
    right = left + step * stages + 12
    legend: Sequence[tuple[str, str]] = (
        ("best plan", BLUE),
        ("each for itself", RED),
        (f"limit: {problem.limit}", DARK),
    )
    for k, (label, colour) in enumerate(legend):
        picture.rect(right, top + 8 + 24 * k, 14, 12 if colour == BLUE else 3, fill=colour)
        picture.text(right + 22, top + 18 + 24 * k, label)
    base = top + high + 86
    for stage, price in enumerate(problem.prices):
        x = left + step * stage
        picture.rect(x + 5, base - 9 * price, step - 10, 9 * price, fill=GREY, opacity=0.6)
        picture.text(x + step / 2, base + 18, f"{stage}", text_anchor="middle", fill=GREY)
        picture.text(x + step / 2, base - 9 * price - 4, f"{price:g}", text_anchor="middle")
    picture.text(right, base - 12, "price of a unit")
    picture.text(right, base + 18, "stage", fill=GREY)
    picture.save(path)


def draws_of(policy: Policy, problem: batteries.Batteries) -> list[float]:
    """What all households draw together at each stage, on average."""
    runs = policy.simulate(RUNS, seed=1, keep=RUNS).trajectories
    homes = {home.name: problem.draws(home) for home in problem.households}
    return [
        sum(
            homes[name][run.states[stage][name]][action]
            for run in runs
            for name, action in run.actions[stage].items()
        )
        / RUNS
        for stage in range(problem.horizon)
    ]


PICTURES: dict[str, Callable[[Path], None]] = {
    "example-warehouse.svg": draw_warehouse,
    "example-sensors.svg": draw_sensors,
    "example-batteries.svg": draw_batteries,
}


def pictures() -> Iterator[Path]:
    """Draw all pictures."""
    for name, draw in PICTURES.items():
        path = Path("docs/images") / name
        draw(path)
        yield path


if __name__ == "__main__":
    for drawn in pictures():
        print(drawn)

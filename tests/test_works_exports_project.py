"""Exports to Microsoft Project: files follow the published schema, with the dates of the plan."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from xml.etree import ElementTree

import pytest

from coreplan import Policy
from coreplan.domains.maintenance.exports.content import exported_plan
from coreplan.domains.maintenance.exports.ms_project import NAMESPACE, plan_ms_project
from coreplan.model.calendar import Calendar
from exported import DAYS, HOSTILE, WEEKS, hostile_plan, later_plan, small_plan

# Facts of the schema (Project XML Data Interchange, 2007): the elements in their order, with their
# types; `!` marks required ones, and `text N` has at most N characters.
PROJECT = """
SaveVersion:int! UID:text_16 Name:text_255 Title:text_512 Subject:text_512 Category:text_512
Company:text_512 Manager:text_512 Author:text_512 CreationDate:dateTime Revision:int
LastSaved:dateTime ScheduleFromStart:bool StartDate:dateTime FinishDate:dateTime
FYStartDate:one_of_1_12 CriticalSlackLimit:int CurrencyDigits:int CurrencySymbol:text_20
CurrencyCode:text_3! CurrencySymbolPosition:one_of_0_3 CalendarUID:int DefaultStartTime:time
DefaultFinishTime:time MinutesPerDay:int MinutesPerWeek:int DaysPerMonth:int
DefaultTaskType:one_of_0_2 DefaultFixedCostAccrual:one_of_1_3 DefaultStandardRate:float
DefaultOvertimeRate:float DurationFormat:format WorkFormat:one_of_1_5 EditableActualCosts:bool
HonorConstraints:bool EarnedValueMethod:one_of_0_1 InsertedProjectsLikeSummary:bool
MultipleCriticalPaths:bool NewTasksEffortDriven:bool NewTasksEstimated:bool
SplitsInProgressTasks:bool SpreadActualCost:bool SpreadPercentComplete:bool
TaskUpdatesResource:bool FiscalYearStart:bool WeekStartDay:one_of_0_6 Calendars:list Tasks:list
Resources:list Assignments:list
"""
CALENDAR = "UID:int! Name:text_512 IsBaseCalendar:bool BaseCalendarUID:int WeekDays:list"
TASK = """
UID:int! ID:int Name:text_512 Type:one_of_0_2 IsNull:bool CreateDate:dateTime Contact:text_512
WBS:text WBSLevel:text OutlineNumber:text_512 OutlineLevel:int Priority:int Start:dateTime
Finish:dateTime Duration:duration DurationFormat:format Work:duration Stop:dateTime Resume:dateTime
ResumeValid:bool EffortDriven:bool Recurring:bool OverAllocated:bool Estimated:bool Milestone:bool
Summary:bool Critical:bool IsSubproject:bool EarlyStart:dateTime EarlyFinish:dateTime
LateStart:dateTime LateFinish:dateTime FreeSlack:int TotalSlack:int FixedCost:float
FixedCostAccrual:one_of_1_3 PercentComplete:int PercentWorkComplete:int Cost:decimal
OvertimeCost:decimal OvertimeWork:duration ActualStart:dateTime ActualFinish:dateTime
ActualDuration:duration ActualCost:decimal ActualOvertimeCost:decimal ActualWork:duration
ActualOvertimeWork:duration RegularWork:duration RemainingDuration:duration RemainingCost:decimal
RemainingWork:duration RemainingOvertimeCost:decimal RemainingOvertimeWork:duration ACWP:float
CV:float ConstraintType:one_of_0_7 CalendarUID:int ConstraintDate:dateTime Deadline:dateTime
LevelAssignments:bool LevelingCanSplit:bool LevelingDelay:int LevelingDelayFormat:format
Hyperlink:text_512 HyperlinkAddress:text_512 HyperlinkSubAddress:text_512
IgnoreResourceCalendar:bool Notes:text HideBar:bool Rollup:bool
"""
RESOURCE = """
UID:int! ID:int Name:text_512 Type:one_of_0_1 IsNull:bool Initials:text_512 Phonetics:text_512
NTAccount:text_512 MaterialLabel:text_512 Code:text_512 Group:text_512 WorkGroup:one_of_0_3
EmailAddress:text_512 Hyperlink:text_512 HyperlinkAddress:text_512 HyperlinkSubAddress:text_512
MaxUnits:float PeakUnits:float OverAllocated:bool AvailableFrom:dateTime AvailableTo:dateTime
Start:dateTime Finish:dateTime CanLevel:bool CalendarUID:int
"""
ASSIGNMENT = """
UID:int! TaskUID:int ResourceUID:int PercentWorkComplete:int ActualCost:decimal
ActualFinish:dateTime ActualOvertimeCost:decimal ActualOvertimeWork:duration ActualStart:dateTime
ActualWork:duration ACWP:float Confirmed:bool Cost:decimal Delay:int Finish:dateTime
FinishVariance:int Milestone:bool Notes:text RegularWork:duration RemainingCost:decimal
RemainingWork:duration Start:dateTime Stop:dateTime Resume:dateTime StartVariance:int Summary:bool
SV:float Units:float UpdateNeeded:bool VAC:float Work:duration
"""
SCHEMA = {
    "Project": PROJECT,
    "Calendars": "Calendar:list!",
    "Calendar": CALENDAR,
    "WeekDays": "WeekDay:list",
    "WeekDay": "DayType:one_of_0_7! DayWorking:bool WorkingTimes:list",
    "WorkingTimes": "WorkingTime:list",
    "WorkingTime": "FromTime:time ToTime:time",
    "Tasks": "Task:list",
    "Task": TASK,
    "Resources": "Resource:list",
    "Resource": RESOURCE,
    "Assignments": "Assignment:list",
    "Assignment": ASSIGNMENT,
}
REPEATED = {"Calendar", "WeekDay", "WorkingTime", "Task", "Resource", "Assignment"}
PATTERNS = {
    "int": r"-?\d+",
    "bool": r"0|1|true|false",
    "float": r"-?\d+(\.\d+)?",
    "decimal": r"-?\d+(\.\d+)?",
    "time": r"\d\d:\d\d:\d\d",
    "dateTime": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d",
    "duration": r"PT\d+H\d+M\d+S",
    "format": r"[3-9]|1[0-2]|19|2[01]|3[5-9]|4[0-4]|5[1-3]",
}


def faults(element: ElementTree.Element) -> Iterator[str]:
    """What does not follow the schema in an element and its parts."""
    name = element.tag.removeprefix(f"{{{NAMESPACE}}}")
    parts = [each.partition(":") for each in SCHEMA[name].split()]
    order = [part for part, _, _ in parts]
    kinds = {part: kind for part, _, kind in parts}
    given = [child.tag.removeprefix(f"{{{NAMESPACE}}}") for child in element]
    for part, kind in kinds.items():
        if kind.endswith("!") and part not in given:
            yield f"{name} lacks {part}"
        if given.count(part) > 1 and part not in REPEATED:
            yield f"{name} has {part} twice"
    unknown = [part for part in given if part not in kinds]
    if unknown:
        yield f"{name} has unknown parts: {unknown}"
    elif [order.index(part) for part in given] != sorted(order.index(part) for part in given):
        yield f"the parts of {name} are out of order: {given}"
    for part, child in zip(given, element, strict=True):
        kind = kinds.get(part, "text").removesuffix("!")
        if kind == "list":
            yield from faults(child)
        elif len(child):
            yield f"{name}/{part} has parts"
        elif not fits(kind, child.text or ""):
            yield f"{name}/{part} is {child.text!r}, not {kind}"


def fits(kind: str, text: str) -> bool:
    """Whether a text is one of a type of the schema."""
    if kind.startswith("text"):
        return len(text) <= int(kind.partition("_")[2] or len(text))
    if kind.startswith("one_of"):
        first, last = map(int, kind.removeprefix("one_of_").split("_"))
        return text.isdecimal() and first <= int(text) <= last
    return re.fullmatch(PATTERNS[kind], text) is not None


def project(policy: Policy, calendar: Calendar) -> ElementTree.Element:
    """The project of a plan."""
    return ElementTree.fromstring(plan_ms_project(exported_plan(policy, calendar), calendar))


def every(root: ElementTree.Element, name: str) -> list[dict[str, str]]:
    """The parts of all elements of a name, by their names."""
    return [
        {part.tag.removeprefix(f"{{{NAMESPACE}}}"): part.text or "" for part in each}
        for each in root.iter(f"{{{NAMESPACE}}}{name}")
    ]


@pytest.mark.parametrize("plan", [small_plan, later_plan, hostile_plan])
@pytest.mark.parametrize("calendar", [WEEKS, DAYS], ids=["weeks", "days"])
def test_files_follow_the_schema(plan: object, calendar: Calendar) -> None:
    """All elements are known, in order, with values of their types; numbers refer to others."""
    root = project(plan(), calendar)  # type: ignore[operator]
    assert list(faults(root)) == []
    tasks, resources = every(root, "Task"), every(root, "Resource")
    calendars = {each["UID"] for each in every(root, "Calendar")}
    for found in (tasks, resources, every(root, "Assignment")):
        assert len({each["UID"] for each in found}) == len(found)
    assert {each["CalendarUID"] for each in resources} <= calendars
    for each in every(root, "Assignment"):
        assert each["TaskUID"] in {task["UID"] for task in tasks if task["Summary"] == "0"}
        assert each["ResourceUID"] in {resource["UID"] for resource in resources}


def test_the_check_of_the_schema_can_fail() -> None:
    """Parts that are missing, unknown, out of order, repeated or of another type are found."""
    good = plan_ms_project(exported_plan(small_plan(), WEEKS), WEEKS).decode()
    for old, new, fault in (
        ("<SaveVersion>12</SaveVersion>", "", "lacks SaveVersion"),
        ("<Milestone>0</Milestone>", "<Millstone>0</Millstone>", "unknown parts"),
        ("<UID>2</UID>\n      <ID>2</ID>", "<ID>2</ID><UID>2</UID>", "out of order"),
        ("<WeekStartDay>1</WeekStartDay>", 2 * "<WeekStartDay>1</WeekStartDay>", "twice"),
        ("<EffortDriven>0</EffortDriven>", "<EffortDriven>no</EffortDriven>", "not bool"),
        ("<ConstraintType>4</ConstraintType>", "<ConstraintType>8</ConstraintType>", "not one_of"),
        ("T08:00:00</ConstraintDate>", "</ConstraintDate>", "not dateTime"),
    ):
        assert good.count(old) >= 1
        broken = ElementTree.fromstring(good.replace(old, new, 1))
        assert [each for each in faults(broken) if fault in each], fault


@pytest.mark.parametrize("calendar", [WEEKS, DAYS], ids=["weeks", "days"])
def test_tasks_are_the_planned_works(calendar: Calendar) -> None:
    """Below each contractor are its works, from the first to the last day that the plan gives."""
    policy = small_plan()
    root = project(policy, calendar)
    tasks = every(root, "Task")
    works = {work.task: work for work in policy.schedule().works}
    chapters = {each["OutlineNumber"]: each for each in tasks if each["Summary"] == "1"}
    assert [each["Name"] for each in chapters.values()] == ["Alpha", "Beta"]
    assert len(tasks) == len(works) + len(chapters)
    for each in tasks:
        if each["Summary"] == "1":
            continue
        work = works[each["Name"]]
        assert chapters[each["OutlineNumber"].partition(".")[0]]["Name"] == work.contractor
        assert (
            each["Start"] == each["ConstraintDate"] == f"{calendar.first_day(work.start)}T08:00:00"
        )
        assert each["Finish"] == f"{calendar.last_day(work.end - 1)}T17:00:00"
    costs = {each["Name"]: int(each["Cost"]) / 100 for each in tasks if "Cost" in each}
    made = exported_plan(policy)
    assert costs == {work.task.name: work.cost for work in made.works}


@pytest.mark.parametrize("plan", [small_plan, later_plan])
@pytest.mark.parametrize("calendar", [WEEKS, DAYS], ids=["weeks", "days"])
def test_durations_in_working_time_give_the_dates(plan: object, calendar: Calendar) -> None:
    """Counting the working hours of the file's calendar from a start leads to the finish."""
    root = project(plan(), calendar)  # type: ignore[operator]
    shifts = {
        (each["FromTime"], each["ToTime"])
        for weekday in root.iter(f"{{{NAMESPACE}}}WeekDay")
        for each in every(weekday, "WorkingTime")
    }
    days = {each["DayType"] for each in every(root, "WeekDay") if each["DayWorking"] == "1"}
    assert days == set("1234567")
    hours = sum(int(end[:2]) - int(begin[:2]) for begin, end in shifts)
    settings = every(root, "Project") or [
        {part.tag.removeprefix(f"{{{NAMESPACE}}}"): part.text or "" for part in root}
    ]
    assert int(settings[0]["MinutesPerDay"]) == 60 * hours
    assert int(settings[0]["MinutesPerWeek"]) == 7 * 60 * hours
    for task in every(root, "Task"):
        begin = datetime.date.fromisoformat(task["Start"][:10])
        match = re.fullmatch(r"PT(\d+)H0M0S", task["Duration"])
        assert match is not None
        needed, left = divmod(int(match[1]), hours)
        assert left == 0
        assert task["Start"][11:] == min(begin for begin, _ in shifts)
        end = begin + datetime.timedelta(needed - 1)
        assert task["Finish"] == f"{end}T{max(end for _, end in shifts)}"
    for one in every(root, "Assignment"):
        task = next(each for each in every(root, "Task") if each["UID"] == one["TaskUID"])
        assert (one["Start"], one["Finish"], one["Work"]) == (
            task["Start"],
            task["Finish"],
            task["Duration"],
        )


def test_hostile_names_in_a_project() -> None:
    """No name adds elements; what XML cannot hold is replaced, and long names are cut."""
    root = project(hostile_plan(), WEEKS)
    names = [each["Name"] for each in every(root, "Resource")]
    assert len(names) == len(HOSTILE)
    assert "a BEGIN:VEVENT SUMMARY:false" in names
    assert "<|Name><Evil>&amp;]]><!--" in names
    assert "\ufffd\ufffd\ufffd bell \ufffd \ufffd" in names
    assert max(map(len, names)) == 512

# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Read KTAP: the results of a test program, and whether all of them came.

A test program can end early, and kselftest's runner exits 0 when a test fails:
so a result counts only with the plan that announced it, and each test that was
announced but never reported is a failure.
"""

import collections
import re

Result = collections.namedtuple("Result", "status name reason")
PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"

VERSION = re.compile(r"K?TAP version \d+$")
PLAN = re.compile(r"1\.\.(\d+)(?:\s+#\s*SKIP\b\s*(.*))?$", re.I)
RESULT = re.compile(r"(not ok|ok)\s+(\d+)(?:\s+-)?\s*(.*?)(?:\s+#\s*(SKIP|TODO|TIMEOUT|exit=\d+)\b[:\s]*(.*))?$", re.I)
SKIP_WORDS = re.compile(r"\bSKIP(?:PED)?\b[:\s]+(\S.*)", re.I)
NESTED = re.compile(r"(?:# | {2,4})(.*)$")


def parse(lines, label=""):
    """Results of a stream of one or more documents, deepest tests only."""
    documents, current = [], []
    for line in lines:
        line = line.rstrip()
        if VERSION.match(line) and any(map(str.strip, current)):
            documents.append(current)
            current = []
        current.append(line)
    documents.append(current)
    results = []
    for document in documents:
        if any(PLAN.match(line) or RESULT.match(line) or VERSION.match(line) for line in document):
            results += _document(document, label)
    if not results:
        results.append(Result(FAILED, label or "output", "no test reported anything"))
    return results


def _document(lines, label):
    results, numbers, nested = [], [], []
    planned = None
    for line in lines:
        plan = PLAN.match(line)
        found = RESULT.match(line)
        if plan:
            if planned is not None:
                results.append(Result(FAILED, label or "plan", "there are two plans in one document"))
            planned = int(plan[1])
            if planned == 0:
                results.append(_skip(label or "all", plan[2] or ""))
        elif found:
            numbers.append(int(found[2]))
            name = _join(label, found[3] or f"test {found[2]}")
            results += _result(found, name, nested)
            nested = []
        elif line.startswith("Bail out!"):
            results.append(Result(FAILED, label or "output", line))
        else:
            inner = NESTED.match(line)
            if inner:
                nested.append(inner[1])
    if planned is None:
        results.append(Result(FAILED, label or "plan", "no plan: the output is cut short"))
    elif sorted(numbers) != list(range(1, planned + 1)):
        results.append(Result(FAILED, label or "plan",
                              f"planned {planned} tests and reported {len(numbers)}"))
    return results


def _result(found, name, nested):
    """The results below one line, or the line's own where there are none."""
    status = FAILED if found[1].lower() == "not ok" else PASSED
    directive = (found[4] or "").upper()
    reason = " ".join(filter(None, (found[4] if directive != "SKIP" else "", found[5])))
    below = []
    if any(PLAN.match(line) or VERSION.match(line) for line in nested):
        below = _document(_after_version(nested), name)
    if below:
        bad = any(result.status == FAILED for result in below)
        if status == FAILED and not bad:
            below.append(Result(FAILED, name, reason or "failed, though none of its tests did"))
        return below
    if status == FAILED:
        said = [line for line in nested if line.strip()][-3:]
        return [Result(FAILED, name, reason + (": " if reason and said else "") + " / ".join(said))]
    if directive == "SKIP":
        for line in nested:
            words = SKIP_WORDS.search(line)
            reason = reason or (words[1] if words else "")
        return [_skip(name, reason)]
    return [Result(PASSED, name, "")]


def _skip(name, reason):
    if not reason.strip():
        return Result(FAILED, name, "skipped without saying why")
    return Result(SKIPPED, name, reason.strip())


def _after_version(lines):
    """kselftest's runner writes lines of its own before a test's output."""
    for number, line in enumerate(lines):
        if VERSION.match(line):
            return lines[number:]
    return lines


def _join(label, name):
    name = re.sub(r"^selftests: ", "", name)
    return f"{label}: {name}" if label else name

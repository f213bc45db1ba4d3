#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""scripts/ktap.py: what is counted, and what counts as a failure."""

import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
import ktap  # noqa: E402

RUNNER = """TAP version 13
1..3
# timeout set to 45
# selftests: hooks: attach
# TAP version 13
# 1..3
# # Starting 3 tests
# ok 1 attach.plain
# ok 2 attach.p2p # SKIP this kernel has no P2PDMA
# {third}
# # Totals: pass:2 fail:0
{attach}
# timeout set to 45
# selftests: hooks: shell.sh
# all is well
ok 2 selftests: hooks: shell.sh
# timeout set to 45
# selftests: hooks: gone.sh
# SKIP: no vgem here
ok 3 selftests: hooks: gone.sh # SKIP
"""

# (what it is, stream, passed, failed, skipped)
CASES = [
    ("good runner", RUNNER.format(third="ok 3 attach.last", attach="ok 1 selftests: hooks: attach"), 3, 0, 2),
    ("nested failure", RUNNER.format(third="not ok 3 attach.last",
                                     attach="not ok 1 selftests: hooks: attach # exit=1"), 2, 1, 2),
    ("failure under an ok", RUNNER.format(third="not ok 3 attach.last",
                                          attach="ok 1 selftests: hooks: attach"), 2, 1, 2),
    ("killed after its tests", RUNNER.format(third="ok 3 attach.last",
                                             attach="not ok 1 selftests: hooks: attach # exit=139"), 3, 1, 2),
    ("nested output cut", RUNNER.format(third="# cut", attach="ok 1 selftests: hooks: attach"), 2, 1, 2),
    ("time-out", "TAP version 13\n1..1\n#\nnot ok 1 selftests: a: b # TIMEOUT 45 seconds\n", 0, 1, 0),
    ("output cut", "TAP version 13\n1..3\nok 1 a\nok 2 b\n", 2, 1, 0),
    ("no plan", "TAP version 13\nok 1 a\n", 1, 1, 0),
    ("a number twice", "TAP version 13\n1..2\nok 1 a\nok 1 b\n", 2, 1, 0),
    ("plan at the end", "TAP version 13\nok 1 - a\nok 2 - b\n1..2\n", 2, 0, 0),
    ("bail out", "TAP version 13\n1..1\nBail out! no device\n", 0, 2, 0),
    ("silence", "", 0, 1, 0),
    ("only noise", "hello\nworld\n", 0, 1, 0),
    ("skip without reason", "KTAP version 1\n1..1\nok 1 a # SKIP\n", 0, 1, 0),
    ("all skipped", "KTAP version 1\n1..0 # SKIP no module BTF\n", 0, 0, 1),
    ("two collections", "TAP version 13\n1..1\nok 1 selftests: a: x\nTAP version 13\n1..1\n"
                        "not ok 1 selftests: b: y # exit=1\n", 1, 1, 0),
    ("two collections, one cut", "TAP version 13\n1..2\nok 1 selftests: a: x\nTAP version 13\n1..1\n"
                                 "ok 1 selftests: b: y\n", 2, 1, 0),
    ("indented subtests", "KTAP version 1\n1..1\n    KTAP version 1\n    1..2\n    ok 1 x\n"
                          "    not ok 2 y\nnot ok 1 suite\n", 1, 1, 0),
]


def main():
    print("KTAP version 1")
    print(f"1..{len(CASES)}")
    bad = 0
    for number, (name, stream, *expected) in enumerate(CASES, 1):
        results = ktap.parse(stream.splitlines())
        got = [sum(result.status == status for result in results)
               for status in (ktap.PASSED, ktap.FAILED, ktap.SKIPPED)]
        if got != expected:
            bad = 1
            print(f"# expected {expected}, got {got}: {results}")
        print("ok" if got == expected else "not ok", number, name)
    return bad


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Large graphs: within the limits, in time that grows as the graph does."""

import resource
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.dont_write_bytecode = True
from fxtest import DEFAULT_MODEL, PLAIN, TMP, Run, main, same, want, write  # noqa: E402

HEAD = """\
fabric_ext: 1
graph: big
params: {{ n: {n} }}
places:
  a: {{ kind: dram, match: {{ node: 0 }} }}
  b: {{ kind: cxl, match: {{ region: region0 }} }}
alias:
  s: {{ bytes: n * 4096 }}
edges:
"""

# What stresses a pass each: independent edges, chains, releases, readers of
# prefixes, many writers of the same bytes.
SHAPES = {
    "independent": """\
  - {{ edge: e, for: i in n, from: a, to: [a, b], bytes: 4096, owner: transfer, alias: {{ set: s, at: i * bytes }} }}
""",
    "two writers": """\
  - {{ edge: e, for: i in n / 2, from: a, to: b, bytes: 4096, owner: transfer, alias: {{ set: s, at: i * bytes }} }}
  - {{ edge: f, for: i in n / 2, from: b, to: a, bytes: 4096, owner: transfer, order: acquire, after: [ "e[i]" ],
       alias: {{ set: s, at: i * bytes }} }}
""",
    "chain": """\
  - {{ edge: e, for: i in n, from: a, to: a, bytes: 4096, owner: transfer, order: acquire, after: [ "e[i - 1]?" ],
       alias: {{ set: s }} }}
""",
    "releases": """\
  - {{ edge: e, for: i in n, from: a, to: a, bytes: 4096, owner: transfer, order: release, alias: {{ set: s }} }}
""",
    "readers and a release": """\
  - {{ edge: e, for: i in n - 1, from: a, to: b, bytes: 4096, owner: borrow, alias: {{ set: s }} }}
  - {{ edge: f, from: a, to: b, bytes: 4096, owner: transfer, order: release, alias: {{ set: s }} }}
""",
}


def seconds(text):
    path = write("big.yaml", text)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run = Run("compile", "-j", path, program=PLAIN)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    same(run.rc, 0, run.out[:500], run.err[:500])
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, run.json


def grows_as_it(shape):
    """Eight times the instances: not the square of the time."""
    text = HEAD + SHAPES[shape]
    small, _ = seconds(text.format(n=100000))
    large, result = seconds(text.format(n=800000))
    same(result["instances"], 800000)
    print(f"# {shape}: {small:.2f} s, eight times as many {large:.2f} s")
    want(large < 24 * small + 0.5, f"{small:.2f} s and {large:.2f} s")


def at_the_limit():
    took, result = seconds((HEAD + SHAPES["independent"]).format(n=4194304))
    same(result["instances"], 4194304)
    print(f"# 4194304 instances in {took:.1f} s")
    want(took < 60)


def long_prompt():
    """131,072 tokens: prefixes of a thousand tiles are read in each layer."""
    graph = TMP / "long.yaml"
    same(Run("model", DEFAULT_MODEL, "--tokens", 131072, "-o", graph).rc, 0)
    began = time.monotonic()
    run = Run("compile", "-j", graph, program=PLAIN)
    same(run.rc, 0)
    print(f"# {run.json['instances']} instances in {time.monotonic() - began:.1f} s")
    # what is too much to prove would be assumed: here it is proved
    same(run.json["obligations"]["assumed"], Run("compile", "-j", short(), program=PLAIN).json["obligations"]["assumed"])


def short():
    graph = TMP / "short.yaml"
    same(Run("model", DEFAULT_MODEL, "--tokens", 128, "-o", graph).rc, 0)
    return graph


def gives_up_in_time():
    """Ranges that all overlap in part: assumed, not proved for hours."""
    text = HEAD.format(n=200000) + """\
  - { edge: e, for: i in n / 2, from: a, to: a, bytes: (i + 1) * 4096, owner: borrow, alias: { set: s } }
  - { edge: f, for: i in n / 2, from: a, to: a, bytes: n * 2048, owner: transfer, order: release,
      alias: { set: s, at: i * 4096 } }
"""
    took, result = seconds(text)
    print(f"# {result['instances']} instances in {took:.1f} s")
    want(took < 60)


TESTS = [*((f"grows as the graph: {shape}", grows_as_it, shape) for shape in SHAPES),
         ("at the limit", at_the_limit), ("long prompt", long_prompt), ("gives up in time", gives_up_in_time)]

sys.exit(main(TESTS))

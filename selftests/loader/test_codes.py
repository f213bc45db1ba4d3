#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Every code of a diagnostic: an input with exactly that fault, where it
points, and a twin without the fault."""

import functools
import json
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.dont_write_bytecode = True
import call_cases  # noqa: E402
import dpu_cases  # noqa: E402
from fxtest import DEFAULT_MODEL, GRAPH, POLICY, Run, Skip, main, same, want, write  # noqa: E402

# (code, text of GRAPH, what stands there in the faulty graph, and in the twin).
# The ^ in the faulty text is where the error points; the twin "" is GRAPH.
REPLACED = [
    (101, "{ driver: vgem } }", "{ driver: vgem }", ""),
    (101, "graph: g", "graph: \"a^\\qb\"", "graph: \"g\""),
    (101, "graph: g", "graph: g^\x01", ""),
    (101, "graph: g", "graph: ^\ue000", ""),
    (103, "{ n: 4,", "{ n: ^&x 4,", ""),
    (103, "{ n: 4,", "{ n: ^*x,", ""),
    (104, "{ n: 4,", "{ n: ^!!int 4,", ""),
    (106, "graph: g", "graph: g\n^graph: h", "graph: g\ngoverns: [cxl]"),
    (106, "{ n: 4,", "{ n: 4, ^n: 5,", "{ n: 4, m: 5,"),
    (107, "{ n: 4,", "{ ^[n]: 4,", ""),
    (201, "capacity: 16MiB", "^capacty: 16MiB", ""),
    (201, "graph: g", "graph: g\n^colour: red", ""),
    (202, "    owner: borrow\n", "", ""),
    (202, "graph: g\n", "", ""),
    (202, "gpu: { kind: gpu, match: { driver: vgem } }", "^gpu: { kind: gpu }", ""),
    (202, "gpu: { kind: gpu, match: { driver: vgem } }", "^gpu: { kind: gpu }",
     "gpu: { kind: gpu, match: { driver: vgem } }\n  sw: { kind: switch }"),
    (203, "[gpu, host], bandwidth", "^gpu, bandwidth", ""),
    (203, "[gpu, host], bandwidth", "^[gpu], bandwidth", ""),
    (203, "    bytes: size\n    element", "    bytes: ^[ size ]\n    element", ""),
    (203, "graph: g", "graph:^ ", ""),
    (204, "kind: gpu", "kind: ^gup", ""),
    (204, "owner: borrow", "owner: ^lend", "owner: share"),
    (204, "graph: g", "graph: g\ngoverns: [^network]", "graph: g\ngoverns: [p2p]"),
    (204, "algo: crc32c", "algo: crc32c, verify: ^perhaps", "algo: crc32c, verify: true"),
    (204, "checksum: { algo: crc32c }", "^checksum: { algo: none }", ""),
    (205, "graph: g", "graph: ^.g", "graph: g.0-1_x"),
    (205, "graph: g", "graph: ^" + "g" * 64, "graph: " + "g" * 63),
    (205, "{ n: 4,", "{ n: 4, ^2x: 4,", "{ n: 4, x2: 4,"),
    (206, "fabric_ext: 1", "fabric_ext: ^2", ""),
    (207, "edge: back", "edge: ^out", ""),
    (207, "to: [host, cxl]", "to: [host, ^host]", ""),
    (207, "graph: g", "graph: g\ngoverns: [cxl, ^cxl]", "graph: g\ngoverns: [cxl, p2p]"),
    (208, "{ node: 0 }", "{ node: ^one }", ""),
    (208, "{ node: 0 }", "{ node: ^1024 }", "{ node: 1023 }"),
    (208, "{ node: 0 }", "{ node: ^0x1 }", "{ node: 01 }"),
    (208, "{ node: 0 }", "^{ node: 0, heap: system }", ""),
    (208, "{ driver: vgem }", "{ pci: ^1:0.0 }", "{ pci: 0000:01:00.0 }"),
    (208, "{ driver: vgem }", "{ driver: ^" + "x" * 64 + " }", "{ driver: " + "x" * 63 + " }"),
    (208, "{ driver: vgem }", "{ driver: ^\"a\\tb\" }", "{ driver: \"a b\" }"),
    (209, "    owner: borrow", "    rw: ^9\n    owner: borrow", "    rw: 9:1\n    owner: borrow"),
    (209, "    owner: borrow", "    rw: ^0:0\n    owner: borrow", "    rw: 0:1\n    owner: borrow"),
    (209, "    owner: borrow", "    rw: ^65536:1\n    owner: borrow",
     "    rw: 65535:65535\n    owner: borrow"),
    (210, "for: i in n\n    from: gpu", "for: ^i of n\n    from: gpu", ""),
    (210, "for: i in n\n    from: gpu", "for: ^[i in n, b in 1, c in 1, d in 1, e in 1]\n    from: gpu",
     "for: i in n\n    from: gpu"),
    (210, "for: i in n\n    from: gpu", "for: ^in n\n    from: gpu", ""),
    (210, "for: i in n\n    from: gpu", "for: ^i in\n    from: gpu", ""),
    (211, "out[i]", "out[i]^x", "out[ i ] "),
    (211, "after: [ out[i] ]", "after: \"out[i^\"", "after: \"out[i]\""),
    (301, "bytes: n * size", "bytes: n *^", ""),
    (301, "bytes: n * size", "bytes: (n * size^", None),
    (301, "bytes: n * size", "bytes: n ^size", ""),
    (301, "bytes: n * size", "bytes: n ^$ size", ""),
    (301, "size: 64KiB", "size: 64 ^KiB", ""),
    (302, "size: 64KiB", "size: 64^KIB", ""),
    (302, "bandwidth: 55GB/s", "bandwidth: 55^Gbps", ""),
    (303, "{ n: 4,", "{ n: 4, x: ^9223372036854775808,", "{ n: 4, x: 9223372036854775807,"),
    (303, "{ n: 4,", "{ n: 4, x: 9223372036854775807 ^+ 1,", "{ n: 4, x: 9223372036854775806 + 1,"),
    (303, "bytes: n * size", "bytes: n * size * 1024 * 1024 * 1024 * 1024 ^* 1024",
     "bytes: n * size * 1024 * 1024 * 1024 * 1024"),
    (304, "{ n: 4,", "{ n: 4, x: 1 ^/ (n - 4),", "{ n: 4, x: 1 / (n - 3),"),
    (304, "at: i * bytes }\n    owner: borrow", "at: n ^/ (i - 2) * 0 }\n    owner: borrow",
     "at: n / (i + 2) * 0 }\n    owner: borrow"),
    (305, "bytes: n * size", "bytes: size ^* size", ""),
    (305, "{ n: 4,", "{ n: 4, x: 1us ^+ 1KiB,", "{ n: 4, x: 1us + 1ns,"),
    (306, "bandwidth: 55GB/s", "bandwidth: ^55GB", ""),
    (306, "latency: 1us", "latency: ^1", ""),
    (306, "bytes: n * size", "bytes: ^1us", ""),
    (306, "for: i in n\n    from: gpu", "for: i in ^4B\n    from: gpu", ""),
    (307, "bytes: n * size", "bytes: ^n * size - 4 * size", "bytes: n * size + 4 * size"),
    (307, "capacity: 16MiB", "capacity: ^0", ""),
    (307, "    owner: borrow", "    priority: ^8\n    owner: borrow",
     "    priority: 7\n    owner: borrow"),
    (308, "    owner: borrow", "    priority: ^i\n    owner: borrow",
     "    priority: n\n    owner: borrow"),
    (308, "    owner: borrow", "    shape: { chunk: ^at + 64 }\n    owner: borrow", None),
    (401, "bytes: n * size", "bytes: n * ^sise", ""),
    (401, "    alias: { set: kv, at: i * bytes }\n    owner: borrow",
     "    alias: { set: kv, at: i * bytes + ^reuse }\n    reuse: 0\n    owner: borrow",
     "    reuse: 0\n    alias: { set: kv, at: i * bytes + reuse }\n    owner: borrow"),
    (402, "to: [host, cxl]", "to: [host, ^cxl0]", ""),
    (402, "{ between: [host, cxl] }", "{ between: [host, ^far] }", ""),
    (403, "out[i]", "^output[i]", ""),
    (404, "{ set: kv, at: i * bytes }\n    owner: borrow",
     "{ set: ^kw, at: i * bytes }\n    owner: borrow", ""),
    (405, "for: i in n\n    from: gpu", "for: [i in n, ^size in 1]\n    from: gpu",
     "for: i in n\n    from: gpu"),
    (405, "{ n: 4,", "{ n: 4, ^bytes: 1,", "{ n: 4, octets: 1,"),
    (406, "out[i]", "^out[i, 0]", ""),
    (406, "out[i]", "^out", "out[*]"),
    (407, "out[i]", "out[^i + 1]", "out[i + 1]?, out[i]"),
    (407, "out[i]", "out[^i - 1]", "out[i - 1]?, out[i]"),
    (501, "from: host\n    to: gpu", "from: ^gpu\n    to: gpu", ""),
    (502, "from: host\n    to: gpu\n    bytes: size\n    alias: { set: kv, at: i * bytes }\n    owner: borrow",
     "from: ^gpu\n    to: cxl\n    bytes: size\n    alias: { set: kv, at: i * bytes }\n    owner: transfer",
     "from: host\n    to: cxl\n    bytes: size\n    alias: { set: kv, at: i * bytes }\n    owner: transfer"),
    (601, "edge: back\n    for: i in n\n    from: host\n    to: gpu\n    bytes: size\n    "
     "alias: { set: kv, at: i * bytes }\n    owner: borrow\n    order: acquire\n    after: [ out[i] ]",
     "edge: ^back\n    for: i in n\n    from: host\n    to: gpu\n    bytes: size\n    "
     "alias: { set: kv, at: i * bytes }\n    owner: borrow\n    order: acquire\n    after: [ out[0] ]",
     "edge: back\n    for: i in n\n    from: host\n    to: gpu\n    bytes: size\n    "
     "alias: { set: kv, at: i * bytes }\n    owner: borrow\n    order: acquire\n    after: [ out[n - 1] ]"),
    (602, "at: i * bytes }\n    owner: borrow", "at: ^i * bytes + 1 }\n    owner: borrow",
     "at: i * bytes }\n    owner: borrow"),
    (901, "quantize: { to: mxfp8 }, checksum: { algo: crc32c }",
     "^checksum: { algo: crc32c }, quantize: { to: mxfp8 }", ""),
    (901, "quantize: { to: mxfp8 }, checksum", "quantize: { to: mxfp8 }, ^quantize: { to: mxfp8 }, checksum",
     "quantize: { to: mxfp8 }, dequantize: { to: bf16 }, checksum"),
    (901, "quantize: { to: mxfp8 }, checksum", "quantize: { to: mxfp8 }, move, ^quantize: { to: mxfp8 }, checksum",
     "move, quantize: { to: mxfp8 }, move, checksum"),
    (902, "quantize: { to: mxfp8 }", "quantize: { to: ^fp16 }", ""),
    (902, "quantize: { to: mxfp8 }", "^quantize: { to: mxfp8, from: fp32 }",
     "quantize: { to: mxfp8, from: bf16 }"),
    (902, "quantize: { to: mxfp8 }", "^dequantize: { to: bf16 }", ""),
    (905, "algo: crc32c", "algo: crc32c, verify: ^xxh64", "algo: crc32c, verify: crc32c"),
    (906, "    element: bf16", "    element: bf16\n    shape: { chunk: ^128KiB }",
     "    element: bf16\n    shape: { chunk: 32KiB }"),
    (906, "    element: bf16", "    element: bf16\n    shape: { chunk: 4KiB, stride: ^2KiB }",
     "    element: bf16\n    shape: { chunk: 4KiB, stride: 4KiB }"),
    (906, "    element: bf16", "    element: bf16\n    shape: { chunk: 64KiB, to_stride: ^33KiB - 1 }",
     "    element: bf16\n    shape: { chunk: 64KiB, to_stride: 33KiB }"),
    (1201, "after: [ out[i] ]", "after: ^[ " + ", ".join(["out[i]"] * 65) + " ]",
     "after: [ " + ", ".join(["out[i]"] * 64) + " ]"),
    (1901, "checksum: { algo: crc32c }", "^compress: { algo: lz4 }", ""),
    (1901, "checksum: { algo: crc32c }", "^persist", ""),
    (1901, "checksum: { algo: crc32c }", "^replicate: { to: [host, cxl] }", ""),
    (1901, "checksum: { algo: crc32c }", "^reduce: { op: sum, from: [ back[*] ] }", ""),
    (1901, "checksum: { algo: crc32c }", "^filter: { keep: hot }", ""),
    (1901, "checksum: { algo: crc32c }", "^gather: { index: rows }", ""),
    (1901, "checksum: { algo: crc32c }", "^scatter: { index: rows }", ""),
    (1901, "checksum: { algo: crc32c }", "^decompress: { algo: zstd }", ""),
    (1101, "    owner: borrow", "    flow: ^{ udp: 4791 }\n    owner: borrow", ""),
    (1421, "capacity: 16MiB", "capacity: 16MiB, copies: ^{ }", "capacity: 17MiB"),
    (1421, "{ driver: vgem } }", "{ driver: vgem }, copies: { functions: [^my_copy] } }",
     "{ driver: vgem }, copies: { functions: [cudaMemcpy] } }"),
    (1421, "{ driver: vgem } }", "{ driver: vgem }, copies: { functions: ^[] } }",
     "{ driver: vgem }, copies: { } }"),
    (1421, "{ driver: vgem } }", "{ driver: vgem }, copies: { library: ^\"a:b\" } }",
     "{ driver: vgem }, copies: { library: /a/b-1.so.2 } }"),
    (1421, "{ driver: vgem } }", "{ driver: vgem }, copies: { ptx: ^sm_9 } }",
     "{ driver: vgem }, copies: { ptx: sm_90a } }"),
    (1421, "{ driver: vgem } }", "{ driver: vgem }, copies: { ptx: ^sm_900 } }",
     "{ driver: vgem }, copies: { ptx: sm_80 } }"),
    (1421, "{ driver: vgem } }", "{ driver: vgem } }\n  gpu2: { kind: gpu, match: { driver: x }, copies: ^{ } }",
     "{ driver: vgem }, copies: { } }\n  gpu2: { kind: gpu, match: { driver: x } }"),
    (403, "{ driver: vgem } }", "{ driver: vgem }, copies: { kernels: { k: ^outt } } }",
     "{ driver: vgem }, copies: { kernels: { k: out } } }"),
    (205, "{ driver: vgem } }", "{ driver: vgem }, copies: { library: l, functions: [^a-b] } }",
     "{ driver: vgem }, copies: { library: l, functions: [a_b] } }"),
    (205, "{ driver: vgem } }", "{ driver: vgem }, copies: { kernels: { ^k-: out } } }",
     "{ driver: vgem }, copies: { kernels: { k_: out } } }"),
    (207, "{ driver: vgem } }", "{ driver: vgem }, copies: { functions: [cudaMemcpy, ^cudaMemcpy] } }",
     "{ driver: vgem }, copies: { functions: [cudaMemcpy, cudaMemcpyAsync] } }"),
    (204, "{ driver: vgem } }", "{ driver: vgem }, copies: { library: l, functions: [{ f: ^inn }] } }",
     "{ driver: vgem }, copies: { library: l, functions: [{ f: in }] } }"),
    (201, "{ driver: vgem } }", "{ driver: vgem }, copies: { ^kernel: { k: out } } }",
     "{ driver: vgem }, copies: { kernels: { k: out } } }"),
    (1201, "{ driver: vgem } }", "{ driver: vgem }, copies: { library: l, functions: ^[" +
     ", ".join(f"f{i}" for i in range(65)) + "] } }",
     "{ driver: vgem }, copies: { library: l, functions: [" + ", ".join(f"f{i}" for i in range(64)) + "] } }"),
    (1903, "order: acquire", "order: ^seq_cst", "order: acq_rel"),
    (1904, "quantize: { to: mxfp8 }", "quantize: { to: ^mxfp4 }", ""),
    (1906, "at: i * bytes }\n    owner: borrow", "at: i * bytes, bytes: ^size / 2 }\n    owner: borrow",
     "at: i * bytes, bytes: size }\n    owner: borrow"),
]

# Whole texts, where a part of GRAPH is not enough: code, faulty, twin.
WHOLE = [
    (102, "^", GRAPH),
    (102, "^# nothing but this\n", GRAPH),
    (105, GRAPH + "---\n^a: b\n", GRAPH + "...\n"),
    (108, "a: " + "[" * 31 + "^[" + "]" * 32 + "\n", None),
    (108, GRAPH.replace("{ n: 4,", "{ n: 4, x: " + "[" * 30 + "^[" + "]" * 31 + ","), GRAPH),
    (205, GRAPH.replace("cxl", "c-xl").replace("kind: c-xl", "kind: cxl"), None),
    (211, GRAPH.replace("after: [ out[i] ]", "after: '^?'"), GRAPH),
    (307, GRAPH.replace("for: i in n\n    from: gpu", "for: i in ^n - 4\n    from: gpu"), GRAPH),
    (502, GRAPH.replace("from: host\n    to: gpu", "from: ^gpu\n    to: gpu").replace("owner: borrow", "owner: transfer"),
     GRAPH.replace("owner: borrow", "owner: transfer")),
    # two that transfer the same bytes, one after the other and not
    (601, GRAPH.replace("owner: borrow", "owner: transfer").replace("after: [ out[i] ]", "after: [ out[0] ]")
     .replace("edge: back", "edge: ^back"),
     GRAPH.replace("owner: borrow", "owner: transfer")),
    # instances of one edge, without and with an order of their own
    (601, GRAPH.replace("    order: release\n", "").replace("edge: out", "edge: ^out")
     .replace("at: i * bytes }\n    owner: transfer", "at: 0 }\n    owner: transfer")
     .replace("from: gpu", "from: host").replace("{ set: kv, at: i * bytes }\n    owner: borrow", "{ set: other }\n    owner: borrow")
     .replace("alias:\n", "alias:\n  other: { bytes: size }\n"),
     GRAPH.replace("at: i * bytes }\n    owner: transfer", "at: 0 }\n    owner: transfer")
     .replace("from: gpu", "from: host").replace("{ set: kv, at: i * bytes }\n    owner: borrow", "{ set: other }\n    owner: borrow")
     .replace("alias:\n", "alias:\n  other: { bytes: size }\n")),
    # one byte in common is enough
    (601, GRAPH.replace("n: 4,", "n: 1,").replace("after: [ out[i] ]", "")
     .replace("order: acquire", "").replace("kv: { bytes: n * size }", "kv: { bytes: 2 * size }")
     .replace("at: i * bytes }\n    owner: borrow", "at: size - 1 }\n    owner: borrow").replace("edge: back", "edge: ^back"),
     GRAPH.replace("n: 4,", "n: 1,").replace("after: [ out[i] ]", "")
     .replace("order: acquire", "").replace("kv: { bytes: n * size }", "kv: { bytes: 2 * size }")
     .replace("at: i * bytes }\n    owner: borrow", "at: size }\n    owner: borrow")),
    # ordered through a third edge that touches other bytes
    (601, GRAPH.replace("out[i]", "third").replace("edge: back", "edge: ^back") +
     "  - { edge: third, from: gpu, to: gpu, bytes: 1, owner: borrow, after: [ out[0] ] }\n",
     GRAPH.replace("out[i]", "third") +
     "  - { edge: third, from: gpu, to: gpu, bytes: 1, owner: borrow, after: [ out[*] ] }\n"),
    (602, GRAPH.replace("kv: { bytes: n * size }", "kv: { bytes: 3 * size }")
     .replace("at: i * bytes }\n    owner: transfer", "at: ^i * bytes }\n    owner: transfer")
     .replace("at: i * bytes }\n    owner: borrow", "at: 0 }\n    owner: borrow").replace("out[i]", "out[*]"),
     GRAPH.replace("at: i * bytes }\n    owner: borrow", "at: 0 }\n    owner: borrow").replace("out[i]", "out[*]")),
    (701, GRAPH.replace("edge: out", "edge: ^out").replace("    order: release\n", "    after: [ back[i] ]\n"),
     GRAPH.replace("    order: release\n", "")),
    (701, GRAPH.replace("edge: out", "edge: ^out").replace("    order: release\n", "    after: [ out[i] ]\n"),
     GRAPH.replace("    order: release\n", "    after: [ out[i - 1]? ]\n")),
    # a release waits for all above it in its set, and one of these for it
    (701, GRAPH.replace("edge: out", "edge: ^out").replace("    order: release\n", "    after: [ back[n - 1] ]\n")
     .replace("order: acquire", "order: acq_rel").replace("after: [ out[i] ]", "after: [ out[0] ]"),
     GRAPH.replace("    order: release\n", "").replace("order: acquire", "order: acq_rel")),
    (702, GRAPH.replace("    after: [ out[i] ]\n", "").replace("order: acquire", "order: ^acquire")
     .replace("    alias: { set: kv, at: i * bytes }\n    owner: borrow", "    owner: borrow"),
     GRAPH.replace("    alias: { set: kv, at: i * bytes }\n    owner: borrow", "    owner: borrow")),
    (801, GRAPH.replace("to: [host, cxl]", "to: cxl").replace("region0 }", "region0 }, capacity: 131KiB")
     .replace("from: host", "from: cxl").replace("capacity: 131KiB", "capacity: ^131KiB"),
     GRAPH.replace("to: [host, cxl]", "to: cxl").replace("region0 }", "region0 }, capacity: 132KiB")
     .replace("from: host", "from: cxl")),
    (801, GRAPH.replace("to: [host, cxl]", "to: cxl").replace("region0 }", "region0 }, capacity: 32KiB")
     .replace("from: host", "from: cxl").replace("bytes: size\n    element", "bytes: ^size\n    element"),
     GRAPH),
    (902, GRAPH.replace("    element: bf16\n", "").replace("quantize", "^quantize"), GRAPH),
    (903, GRAPH.replace("at: i * bytes }\n    owner: transfer", "at: i * size }\n    owner: transfer")
     .replace("bytes: size\n    element", "bytes: ^size - 32\n    element"),
     GRAPH.replace("at: i * bytes }\n    owner: transfer", "at: i * size }\n    owner: transfer")
     .replace("bytes: size\n    element", "bytes: size - 64\n    element")),
    (903, GRAPH.replace("bytes: size\n    alias", "bytes: ^size - 1 - i\n    element: bf16\n    alias")
     .replace("at: i * bytes }\n    owner: borrow", "at: i * size }\n    owner: borrow"),
     GRAPH.replace("bytes: size\n    alias", "bytes: size - 2 * i\n    element: bf16\n    alias")
     .replace("at: i * bytes }\n    owner: borrow", "at: i * size }\n    owner: borrow")),
    (904, GRAPH.replace("    order: release", "    exact: true").replace("quantize", "^quantize"),
     GRAPH.replace("    order: release", "    exact: false")),
    (1001, GRAPH.replace("  - { between: [host, cxl] }", "  - { between: [far, cxl] }")
     .replace("links:", "  far: { kind: remote }\nlinks:").replace("to: [host, cxl]", "to: [host, ^cxl]"),
     GRAPH.replace("  - { between: [host, cxl] }", "  - { between: [far, cxl] }\n  - { between: [far, host] }")
     .replace("links:", "  far: { kind: remote }\nlinks:")),
    # nothing is known about a place that no link names
    (1002, GRAPH.replace("{ between: [host, cxl] }", "^{ between: [host, host] }"),
     GRAPH.replace("  - { between: [host, cxl] }\n", "")),
    (1201, GRAPH.replace("edge: out", "edge: ^out").replace("for: i in n\n    from: gpu",
                                                          "for: [i in n, j in 1048577]\n    from: gpu")
     .replace("out[i]", "out[i, 0]"),
     None),
    (1201, GRAPH.replace("n: 4", "n: 5000").replace("capacity: 16MiB", "capacity: 16GiB")
     .replace("after: [ out[i] ]", "after: [ ^out[*] ]"),
     GRAPH.replace("n: 4", "n: 4000").replace("after: [ out[i] ]", "after: [ out[*] ]")),
    (1904, GRAPH.replace("element: bf16", "element: fp32").replace("quantize", "^quantize"), GRAPH),
    (1904, GRAPH.replace("bytes: size\n    alias", "bytes: 32 * 17 * 64\n    element: mxfp4\n    alias")
     .replace("at: i * bytes }\n    owner: borrow", "at: 0 }\n    owner: borrow")
     .replace("after: [ out[i] ]", "after: [ out[*] ]\n    transform: [ ^dequantize: { to: bf16 } ]"),
     GRAPH.replace("bytes: size\n    alias", "bytes: 32 * 33 * 32\n    element: mxfp8\n    alias")
     .replace("at: i * bytes }\n    owner: borrow", "at: 0 }\n    owner: borrow")
     .replace("after: [ out[i] ]", "after: [ out[*] ]\n    transform: [ dequantize: { to: bf16 } ]")),
    (1905, GRAPH.replace("checksum: { algo: crc32c }", "^checksum: { algo: xxh64 }"), GRAPH),
]


def generated():
    """Cases whose texts are too long to write."""
    yield 109, "# " + "x" * (16 << 20) + "\n" + GRAPH, "# " + "x" * 1000 + "\n" + GRAPH
    many = "[" + ",".join("0" for _ in range((1 << 20) + 1)) + "]"
    yield 110, GRAPH.replace("{ n: 4,", "{ n: 4, x: " + many + ","), GRAPH


# One edge to a network device and one from it; the tests change their flows.
WIRE = """\
fabric_ext: 1
graph: g
params: { n: 4 }
places:
  host: { kind: dram, match: { node: 0 } }
  nic: { kind: nic, match: { netdev: eth0 } }
edges:
  - { edge: out, for: i in n, from: host, to: nic, bytes: 1KiB, owner: borrow, flow: { udp: 5000 + i } }
  - { edge: in, from: nic, to: host, bytes: 1KiB, owner: borrow, flow: { vlan: 7 } }
"""
SECOND = "  - { edge: more, from: nic, to: host, bytes: 1, owner: borrow, flow: %s }\n"


def wire():
    """Flows: (code, the flow of `in` with the error, the twin's)."""
    tuples = [
        (203, "^7", "{ vlan: 7 }"), (201, "{ ^upd: 7 }", "{ udp: 7 }"), (212, "^{ }", "{ dscp: 0 }"),
        (212, "{ tuple: ^{ } }", "{ tuple: { proto: 1 } }"),
        (212, "{ tuple: { src: ^10.0.0.256 } }", "{ tuple: { src: 10.0.0.255 } }"),
        (212, "{ tuple: { dst: ^10.0.0.0/8 } }", "{ tuple: { dst: \"fe80::1\" } }"),
        (212, "{ tuple: { src: 10.0.0.1, dst: ^\"::1\" } }", "{ tuple: { src: \"::2\", dst: \"::1\" } }"),
        (212, "{ tuple: { sport: ^7 } }", "{ tuple: { sport: 7, proto: tcp } }"),
        (212, "{ tuple: { dport: ^7, proto: 132 } }", "{ tuple: { dport: 7, proto: 17 } }"),
        (212, "{ tuple: { proto: ^sctp } }", "{ tuple: { proto: 132 } }"),
        (212, "{ tuple: { proto: ^256 } }", "{ tuple: { proto: 255 } }"),
        (212, "{ udp: ^7, tuple: { dport: 7 } }", "{ udp: 7, tuple: { sport: 7 } }"),
        (212, "{ udp: ^7, tuple: { proto: udp } }", "{ udp: 7, tuple: { src: 10.0.0.1 } }"),
        (307, "{ udp: ^0 }", "{ udp: 1 }"), (307, "{ udp: ^65536 }", "{ udp: 65535 }"),
        (307, "{ vlan: ^4095 }", "{ vlan: 4094 }"), (307, "{ dscp: ^n * 16 }", "{ dscp: n * 16 - 1 }"),
        (401, "{ udp: ^i }", "{ udp: n }"),
        (212, "{ rocev2: ^17 }", "{ rocev2: { qp: 17 } }"), (212, "{ rocev2: ^{ } }", "{ rocev2: tag }"),
        (212, "{ rocev2: ^tagged }", "{ rocev2: tag }"), (201, "{ rocev2: { ^pq: 17 } }", "{ rocev2: { qp: 17 } }"),
        (201, "{ ^tag: yes }", "{ rocev2: tag }"), (307, "{ rocev2: { qp: ^1 } }", "{ rocev2: { qp: 2 } }"),
        (307, "{ rocev2: { qp: ^0xffffff } }", "{ rocev2: { qp: 0xfffffe } }"),
        (212, "{ udp: ^4791, rocev2: tag }", "{ vlan: 1, rocev2: tag }"),
        (212, "{ rocev2: ^{ qp: n }, tuple: { dport: 4791 } }", "{ rocev2: { qp: n }, tuple: { sport: 4791 } }"),
        (212, "{ rocev2: ^tag, tuple: { proto: udp } }", "{ rocev2: tag, tuple: { src: 10.0.0.1 } }"),
    ]
    for code, faulty, twin in tuples:
        yield code, WIRE.replace("{ vlan: 7 }", faulty), WIRE.replace("{ vlan: 7 }", twin)
    # the queues of what is received: another word, an edge that is sent, one without a flow, one at a dpu
    received = WIRE.replace("{ vlan: 7 }", "{ vlan: 7 }, redirect: af_xdp")
    yield 204, WIRE.replace("{ vlan: 7 }", "{ vlan: 7 }, redirect: ^xdp"), received
    yield 212, WIRE.replace("5000 + i }", "5000 + i }, redirect: ^af_xdp"), received
    yield 212, WIRE.replace("flow: { vlan: 7 }", "redirect: ^cpu"), WIRE.replace("{ vlan: 7 }", "{ vlan: 7 }, redirect: cpu")
    yield 212, received.replace("nic, match: { netdev", "dpu, match: { dpu").replace("redirect: ", "redirect: ^"), received
    yield 1102, WIRE.replace("flow: { udp: 5000 + i }", "flow: ^{ udp: 5000 }"), WIRE
    yield 1102, WIRE.replace("flow: { udp: 5000 + i }", "flow: ^{ rocev2: { qp: 50 } }"), \
        WIRE.replace("{ udp: 5000 + i }", "{ rocev2: { qp: 50 + i } }")
    yield 1102, WIRE.replace("flow: { udp: 5000 + i }", "flow: ^{ rocev2: { qp: 50 } }"), \
        WIRE.replace("{ udp: 5000 + i }", "{ rocev2: tag }")
    yield 1102, WIRE + SECOND % "^{ vlan: 7 }", WIRE + SECOND % "{ vlan: 8 }"
    yield 207, (WIRE.replace("edges:", "  two: { kind: nic, match: { netdev: ^eth0 } }\nedges:") +
                (SECOND % "{ vlan: 8 }").replace("nic", "two")), \
        (WIRE.replace("edges:", "  two: { kind: nic, match: { netdev: eth1 } }\nedges:") +
         (SECOND % "{ vlan: 8 }").replace("nic", "two"))
    for name, good in (("a" * 16, "a" * 15), ("\"a/b\"", "a.b"), ("..", "..."), ("\"a b\"", "a_b")):
        yield 208, WIRE.replace("eth0", f"^{name}"), WIRE.replace("eth0", good)
    yield 1902, WIRE.replace("netdev: eth0 }", "netdev: eth0 }, appears: later").replace(
        "out, for: i in n, from: host, to: nic", "out, for: i in n, from: host, to: host").replace(
            ", flow: { udp: 5000 + i }", "").replace("{ vlan: 7 }", "^{ vlan: 7 }"), WIRE
    yield 1902, WIRE.replace("netdev: eth0", "driver: mlx5").replace(", flow: { udp: 5000 + i }", "").replace(
        "{ vlan: 7 }", "^{ vlan: 7 }"), WIRE
    # the ninth set of fields, and more flows than fit
    sets = ["{ dscp: 1 }", "{ udp: 1 }", "{ udp: 1, vlan: 1 }", "{ udp: 1, dscp: 1 }", "{ vlan: 1, dscp: 1 }",
            "{ tuple: { proto: 1 } }", "{ tuple: { src: 10.0.0.1 } }", "{ tuple: { dst: 10.0.0.1 } }"]
    edges = [(SECOND % flow).replace("more", f"m{i}") for i, flow in enumerate(sets)]
    yield 1201, WIRE.replace("  nic:", "  ^nic:") + "".join(edges), WIRE + "".join(edges[1:])
    yield 1201, WIRE.replace("graph: g", "graph: ^g").replace("{ n: 4 }", "{ n: 80000 }").replace(
        "{ udp: 5000 + i }", "{ udp: 1 + i % 60000, vlan: i / 60000 }"), \
        WIRE.replace("{ n: 4 }", "{ n: 60001 }").replace("{ udp: 5000 + i }", "{ udp: 1 + i % 60000, vlan: i / 60000 }")


def place_of(text):
    """Text without its mark, and the mark's line and column."""
    at = text.find("^")
    if at < 0:
        return text, None
    line = text.count("\n", 0, at) + 1
    return text[:at] + text[at + 1:], (line, at - text.rfind("\n", 0, at))


def only_error(run, code, place):
    same(run.rc, 1, run.err)
    found = run.json["diagnostics"]
    same([d["code"] for d in found], [f"FX{code:04}"], json.dumps(found, indent=1))
    if place:
        same((found[0]["line"], found[0]["column"]), place, found[0]["message"])
    same(run.json["errors"], [])


@functools.lru_cache(maxsize=None)
def sound(text):
    run = Run("compile", "-j", write("twin.yaml", text))
    same(run.rc, 0, "twin:", run.out)


def graph_case(code, faulty, twin):
    text, place = place_of(faulty)
    only_error(Run("compile", "-j", write("faulty.yaml", text)), code, place)
    if twin is not None:
        sound(twin)


MODEL = {
    "model_type": "mixtral", "torch_dtype": "bfloat16", "hidden_size": 4096, "intermediate_size": 14336,
    "num_attention_heads": 32, "num_key_value_heads": 8, "num_hidden_layers": 4, "vocab_size": 32000,
    "num_local_experts": 8, "num_experts_per_tok": 2,
}

MODELS = [
    (2001, {"model_type": "gpt2"}), (2001, {"model_type": None}), (2001, {"model_type": ["llama"]}),
    (2001, "drop model_type"), (2001, [1, 2]),
    (2002, "drop hidden_size"), (2002, {"num_hidden_layers": 0}), (2002, {"num_hidden_layers": -1}),
    (2002, {"num_hidden_layers": 1 << 70}), (2002, {"hidden_size": "4096"}), (2002, {"hidden_size": 4096.5}),
    (2002, {"hidden_size": None}), (2002, {"hidden_size": {"a": 1}}), (2002, {"vocab_size": True}),
    (2002, {"torch_dtype": "float32"}),
    (2003, {"num_key_value_heads": 5}), (2003, {"num_key_value_heads": 64}), (2003, {"num_experts_per_tok": 9}),
    (2003, {"hidden_size": 4095}),
]


def model_case(code, change):
    config = dict(MODEL)
    if isinstance(change, list):
        config = change
    elif isinstance(change, str):
        del config[change.split()[1]]
    else:
        config.update(change)
    only_error(Run("model", "-j", write("config.json", json.dumps(config, indent=1)), "--tokens", 256), code, None)
    same(Run("model", "-j", write("config.json", json.dumps(MODEL)), "--tokens", 256).rc, 0, "twin")


OWN_OPS = """\
struct fabric_ext_ops {
	int (*%s)(void *);
	char graph[64];
};

__attribute__((section("struct_ops/x"))) int program(void *ctx)
{
	return 0;
}

__attribute__((section(".struct_ops.link"))) struct fabric_ext_ops p = {
	.%s = program,
};
"""
OWN_OPS += '__attribute__((section("license"))) char licence[] = "GPL";\n'
LICENCE = "char LICENSE[] SEC(\"license\") = \"Dual BSD/GPL\";\n"
UNSET = POLICY.replace("FX_POLICY(p, .admit = (void *)fx_admit);\n", "")

POLICIES = [
    (3001, UNSET, POLICY),
    (3001, OWN_OPS.replace("char graph[64];", "") % ("admit", "admit"), OWN_OPS % ("admit", "admit")),
    (3001, OWN_OPS.replace("fabric_ext_ops", "hid_bpf_ops") % ("admit", "admit"),
     OWN_OPS.replace("fabric_ext_ops", "fabric_ext_ops___v2") % ("admit", "admit")),
    (3002, POLICY + "FX_POLICY(q, .admit = (void *)fx_admit);\n", POLICY),
    (3003, OWN_OPS % ("admitt", "admitt"), OWN_OPS % ("admit", "admit")),
    (3004, POLICY.replace("(p, ", "(p, .graph = \"other\", "), POLICY.replace("(p, ", "(p, .graph = \"g\", ")),
    (3005, POLICY.replace("return 0;", "return zero;"), POLICY),
    (3006, POLICY.replace(LICENCE, ""), POLICY),
    *call_cases.OPS,
    (3006, POLICY.replace("Dual BSD/GPL", "BSD"), POLICY.replace("Dual BSD/GPL", "GPL v2")),
]


PORTABLE = """\
#include <fabric_ext/portable.bpf.h>

FX_MAP(local, a, __u64, 4);

FX_GUARD(move)
{
	return fx_at(&a, move->edge) ? fx_pass() : fx_drop(EACCES);
}

FX_PORTABLE(p, FX_MALFORMED_PASS);

char LICENSE[] SEC("license") = "Dual BSD/GPL";
"""
RAW_MAP = """\
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __u64);
} a SEC(".maps");
"""



def shared(declared, use="0"):
    """A policy with this map, which it uses so."""
    types = "struct fx_whole { __u64 a[8]; };\nstruct fx_wide { __u64 a[9]; };\n"
    return PORTABLE.replace("FX_MAP(local, a, __u64, 4);", f"{types}FX_MAP({declared});") \
        .replace("return fx_at(&a, move->edge) ? fx_pass() : fx_drop(EACCES);", f"(void)({use});\n\treturn fx_pass();")


# for network devices, on WIRE
PORTABLES = [
    (3005, PORTABLE.replace("EACCES", "ENOEXIST"), PORTABLE),
    (1111, shared("counter, a, __u32, 4"), shared("counter, a, __u64, 4")),
    (1111, shared("coherent, a, __u32, 4"), shared("coherent, a, __u64, 4")),
    (1111, shared("bounded, a, struct fx_wide, 4, 10"), shared("bounded, a, struct fx_whole, 4, 10")),
    (1111, shared("bounded, a, __u64, 4, 9"), shared("bounded, a, __u64, 4, 10")),
    (1111, shared("bounded, a, __u64, 4, 3600001"), shared("bounded, a, __u64, 4, 3600000")),
    (3005, shared("counter, a, __u64, 4", "fx_at(&a, 0)"), shared("counter, a, __u64, 4", "fx_count(&a, 0, 1)")),
    (3005, shared("local, a, __u64, 4", "fx_count(&a, 0, 1)"), shared("local, a, __u64, 4", "fx_at(&a, 0)")),
    (3005, shared("bounded, a, __u64, 4, 50", "fx_load(&a, 0)"), shared("coherent, a, __u64, 4", "fx_load(&a, 0)")),
    (3005, shared("snapshot, a, __u64, 4", "fx_snap(&a)->epoch = 1"), shared("snapshot, a, __u64, 4", "fx_snap(&a)")),
    (3005, shared("atomic, a, __u64, 4"), shared("coherent, a, __u64, 4")),
    (3007, POLICY, PORTABLE),
    (3008, PORTABLE.replace("FX_MAP(local, a, __u64, 4);", RAW_MAP), PORTABLE),
    (3010, PORTABLE.replace("return", "return *fx_at(&a, move->edge) ? fx_pass() : fx_drop(EPERM);\n\treturn"), PORTABLE),
    (3010, PORTABLE.replace("return", "while (fx_now() & 1)\n\t\tasm volatile(\"\");\n\treturn"),
     PORTABLE.replace("return", "for (__u64 i = 0; i < 8; i++)\n\t\tasm volatile(\"\" : : \"r\"(i));\n\treturn")),
    (3010, PORTABLE.replace("return", "__u64 x;\n\n\tbpf_copy_from_user(&x, 8, 0);\n\treturn"), PORTABLE),
    (3010, PORTABLE.replace("return", "__u64 x;\n\n\tdeep(&x);\n\treturn").replace(
        "FX_GUARD", "static __noinline void deep(__u64 *x)\n{\n\tbpf_copy_from_user(x, 8, 0);\n}\n\nFX_GUARD"), PORTABLE),
    (3008, PORTABLE.replace("FX_GUARD", "__u64 n;\n\nFX_GUARD").replace("return", "n++;\n\treturn"),
     PORTABLE.replace("FX_GUARD", "const __u64 n = 1;\n\nFX_GUARD").replace("move->edge", "n")),
]


# On GPUs: the device, and the body of the guard.
GPU_GRAPH = GRAPH.replace("{ driver: vgem } }", "{ driver: vgem }, copies: { library: libkv.so, kernels: { k: out } } }")
GPU_POLICY = """\
#include <fabric_ext/portable.bpf.h>

static __u64 (* const lane)(void) = (void *)511;
static __u64 (* const pid)(void) = (void *)14;
static void (* const fence)(void) = (void *)506;
static void (* const fill)(__u64 *x, __u64 *y, __u64 *z) = (void *)505;

FX_MAP(local, shared, __u64, 4);
FX_MAP(counter, own, __u64, 4);

static __noinline __u64 twice(__u64 n) { asm volatile("" : "+r"(n)); return 2 * n; }
static __always_inline __u64 inlined(__u64 n) { asm volatile("" : "+r"(n)); return 2 * n; }

FX_GUARD(move)
{
	__u64 *n = fx_at(&shared, 0);

	if (!n)
		return fx_pass();
	%s
	return fx_pass();
}

FX_PORTABLE(p, FX_MALFORMED_PASS);

char LICENSE[] SEC("license") = "Dual BSD/GPL";
"""
UNUSED = "static __noinline __u64 twice(__u64 n) { asm volatile(\"\" : \"+r\"(n)); return 2 * n; }\n"
LOOP = "for (__u32 i = 0; i < %s; i++) { asm volatile(\"\" : : \"r\"(i)); fx_count(&own, 0, 1); }"
GPU_POLICIES = [
    (1401, "cuda", "if (lane() == 3) fx_count(&own, 0, 1);", "fx_count(&own, 0, lane() & 1);"),
    (1401, "cuda", "struct fx_counter *m = fx_map_entry(&own, 1); if (m && *(volatile __u64 *)m > 9) return fx_drop(EPERM);",
     "if (*n > 9) return fx_drop(EPERM);"),
    (1401, "cuda", "if (fx_now() > 9) return fx_drop(EPERM);", "fx_count(&own, 0, fx_now());"),
    (1402, "cuda", "__u32 key = lane() & 3; (bpf_map_lookup_elem)(&shared, &key);",
     "__u32 key = *n & 3; (bpf_map_lookup_elem)(&shared, &key);"),
    (1403, "cuda", "*n = lane();", "fx_count(&own, 2, lane());"),
    (1403, "cuda", "__u64 y, z; fill(n, &y, &z);", "__u64 x, y, z; fill(&x, &y, &z); fx_count(&own, 1, x);"),
    (1404, "cuda", "fence();", "pid();"),
    (1405, "cuda", LOOP % "*n", LOOP % "8"),
    (1405, "ptx", LOOP % "*n", LOOP % "8"),
    (1406, "cuda", LOOP % "20000", LOOP % "2000"),
    (1407, "cuda", "bpf_get_prandom_u32();", "pid();"),
    (1407, "ptx", "bpf_get_prandom_u32();", "fx_now();"),
    (1408, "cuda", "*n = twice(*n);", "*n = inlined(*n);"),
    (1408, "ptx", "*n = twice(*n);", "*n = inlined(*n);"),
    (1409, "cuda", "asm volatile(\"r0 = *(u8 *)skb[1]\" : : : \"r0\", \"r1\", \"r2\", \"r3\", \"r4\", \"r5\");", "pid();"),
    (1414, "ptx", "__u64 *m = fx_at(&shared, move->edge); *m = 1;", "__u64 *m = fx_at(&shared, move->edge); if (m) *m = 1;"),
    (1414, "cuda", "*(n + 1) = move->bytes;", "*n = move->bytes;"),
    (1411, "bpftime", "bpf_get_current_task();", "bpf_get_current_pid_tgid();"),
]
OTHER_MAP = """\
struct {
	__uint(type, %s);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __u64);
} extra SEC(".maps") __attribute__((btf_decl_tag("fx_class:local")));

FX_GUARD("""


def gpu_case(code, device, faulty, twin):
    graph = write("gpu.yaml", GPU_GRAPH.replace("libkv.so,", "libkv.so, ptx: sm_90,"))
    out = write("gpu/x", "").parent / "bundle"
    shutil.rmtree(out, ignore_errors=True)
    run = Run("compile", "-d", device, graph, write("faulty.bpf.c", gpu_policy(faulty)), "-o", out)
    if code == 1414 and "is not verified" in run.err:
        raise Skip("BPF programs may not be loaded here, so that nothing is verified")
    only_error(Run("compile", "-j", "-d", device, graph, write("faulty.bpf.c", gpu_policy(faulty)), "-o", out), code, None)
    want(not out.exists(), "left behind")
    run = Run("compile", "-j", "-d", device, graph, write("twin.bpf.c", gpu_policy(twin)), "-o", out)
    same(run.rc, 0, "twin:", run.out, run.err)


def gpu_policy(body):
    # a function that is not called is a program that nobody asked for
    text = GPU_POLICY % body
    return text if "twice(*" in body else text.replace(UNUSED, "")


def gpu_map_case(code):
    text = GPU_POLICY.replace(UNUSED, "") % "fx_at(&extra, 1);"
    graph, out = write("gpu.yaml", GPU_GRAPH), write("gpu/x", "").parent / "bundle"
    for device, faulty, twin in (("bpftime", "BPF_MAP_TYPE_LRU_HASH", "BPF_MAP_TYPE_HASH"),
                                 ("cuda", "BPF_MAP_TYPE_HASH", "1501")):
        policy = text.replace("FX_GUARD(", OTHER_MAP % faulty, 1)
        only_error(Run("compile", "-j", "-d", device, graph, write("faulty.bpf.c", policy), "-o", out), code, None)
        policy = text.replace("FX_GUARD(", OTHER_MAP % twin, 1)
        run = Run("compile", "-j", "-d", device, graph, write("twin.bpf.c", policy), "-o", out)
        same(run.rc, 0, "twin:", run.out, run.err)


def gpu_slow_case(code):
    """A warning, which is told and keeps nobody from compiling."""
    graph, out = write("gpu.yaml", GPU_GRAPH), write("gpu/x", "").parent / "bundle"
    run = Run("compile", "-d", "cuda", graph, write("slow.bpf.c", gpu_policy("pid();")), "-o", out)
    same(run.rc, 0, run.err)
    line = GPU_POLICY[:GPU_POLICY.index("%s")].count("\n")
    want(f"slow.bpf.c:{line}:" in run.err and f"warning[FX{code:04}]" in run.err, run.err)
    run = Run("compile", "-d", "cuda", graph, write("fast.bpf.c", gpu_policy("lane();")), "-o", out)
    same(run.rc, 0)
    want("[FX" not in run.err, run.err)


def portable_case(code, faulty, twin):
    policy_case(code, faulty, twin, WIRE)


def map_at_its_line(_):
    """The map, the line, the way out."""
    run = Run("compile", "-j", write("wire.yaml", WIRE), write("at.bpf.c", shared("coherent, a, __u32, 4")), "-o",
              write("policy/x", "").parent / "at")
    found = run.json["diagnostics"]
    same([(d["code"], d["line"], d["column"]) for d in found], [("FX1111", 5, 1)])
    want("'a'" in found[0]["message"] and "'bounded'" in json.dumps(found[0]), found)


def line_case(code, graph, text, line, words):
    """The line, the op or the guard, the device, and a way out."""
    run = Run("compile", "-j", write("lines.yaml", graph), write("lines.bpf.c", text), "-o",
              write("lines/x", "").parent / "bundle")
    same(run.rc, 1, run.err)
    found = run.json["diagnostics"]
    same([(d["code"], d.get("line")) for d in found], [(f"FX{code:04}", line)], found)
    for word in words:
        want(word in found[0]["message"] + found[0]["help"], word, "is not in", found)


def device_case(_):
    """--device nic for a graph without one, and with."""
    policy, out = write("portable.bpf.c", PORTABLE), write("policy/x", "").parent / "device"
    only_error(Run("compile", "-j", "-d", "nic", write("graph.yaml", GRAPH), policy, "-o", out), 3009, None)
    run = Run("compile", "-j", "-d", "nic", write("wire.yaml", WIRE), policy, "-o", out)
    same(run.rc, 0, run.out, run.err)
    same(sorted(json.loads((out / "manifest.json").read_text(encoding="utf-8"))["files"]),
         ["edges.bin", "nic/eth0/flows.bin", "nic/eth0/policy.bpf.o", "obligations.json"])
    same(run.json["devices"], "nic eth0 (5 flows)")
    obligations = json.loads((out / "obligations.json").read_text(encoding="utf-8"))["obligations"]
    same({o["by"].split(":")[0] for o in obligations if o["status"] == "run-time"}, {"nic"})
    run = Run("compile", "-j", "-d", "kernel", write("wire.yaml", WIRE), policy, "-o", out)
    same(run.rc, 0, run.out, run.err)
    same(sorted(json.loads((out / "manifest.json").read_text(encoding="utf-8"))["files"]),
         ["edges.bin", "kernel/policy.bpf.o", "obligations.json"])
    same(sorted(path.name for path in out.iterdir()), ["edges.bin", "kernel", "manifest.json", "manifest.sha256", "obligations.json"])
    obligations = json.loads((out / "obligations.json").read_text(encoding="utf-8"))["obligations"]
    same([(o["status"], o["by"]) for o in obligations if o["code"] == "placement.flow"],
         [("assumed", "the bundle has no part for network devices")])
    # both, as some of the edges are the kernel's alone
    text = WIRE.replace(", flow: { vlan: 7 }", "")
    same(Run("compile", write("wire.yaml", text), policy, "-o", out).rc, 0)
    same(Run("compile", "-j", write("wire.yaml", text), policy, "-o", out).json["devices"],
         "kernel, nic eth0 (4 flows)")
    want((out / "kernel/policy.bpf.o").exists() and (out / "nic/eth0/policy.bpf.o").exists(), "both")
    for device, word in (("tpu", "no device"), ("policy", "no device")):
        run = Run("compile", "-d", device, write("wire.yaml", WIRE), policy, "-o", out)
        same(run.rc, 1)
        want(word in run.err and run.err.count("\n") == 1, run.err)
    shutil.rmtree(out)


def dpu_case(code, faulty, twin):
    """Refused with the line, the device and a way out; the twin runs."""
    graph, out = write("dpu.yaml", dpu_cases.GRAPH), write("policy/x", "").parent / "dpu"
    faulty, line = dpu_cases.text(faulty)
    run = Run("compile", "-j", graph, write("faulty.bpf.c", faulty), "-o", out)
    same(run.rc, 1, run.err)
    found = run.json["diagnostics"]
    same({d["code"] for d in found}, {f"FX{code:04}"}, found)
    want(all("'dpu'" in d["message"] and d["help"] for d in found), found)
    if line:
        want(line in [d.get("line") for d in found], f"line {line}:", found)
    twin, _ = dpu_cases.text(twin)
    run = Run("compile", "-j", graph, write("twin.bpf.c", twin), "-o", out)
    same(run.rc, 0, "twin:", run.out, run.err)
    want(json.loads((out / "manifest.json").read_text(encoding="utf-8"))["dpu"][0]["verified"], "verified")
    shutil.rmtree(out)


def policy_case(code, faulty, twin, graph=GRAPH):
    graph = write("graph.yaml", graph)
    bundle = write("policy/graph.yaml", GRAPH).parent / "bundle"
    shutil.rmtree(bundle, ignore_errors=True)
    only_error(Run("compile", "-j", graph, write("faulty.bpf.c", faulty), "-o", bundle), code, None)
    same([path.name for path in bundle.parent.iterdir()], ["graph.yaml"], "left behind:")
    run = Run("compile", "-j", graph, write("twin.bpf.c", twin), "-o", bundle)
    same(run.rc, 0, "twin:", run.out, run.err)


def all_covered(cases):
    """No code without a case, and each explains itself."""
    known = {int(c["code"][2:]) for c in Run("explain", "-j").json}
    same(sorted(known - {c for c, *_ in cases}), [], "codes without a test:")
    same(sorted({c for c, *_ in cases} - known), [], "tests without a code:")
    for code in known:
        run = Run("explain", f"FX{code:04}")
        same(run.rc, 0)
        want(len(run.out.splitlines()) >= 3, f"FX{code:04} explains nothing")
    same(Run("explain", "FX9999").rc, 1)


def several():
    """All errors of a pass, in the file's order."""
    text = GRAPH.replace("kind: gpu", "kind: gup").replace("owner: borrow", "owner: lend") \
                .replace("capacity", "capacty").replace("order: acquire", "order: whenever")
    found = Run("compile", "-j", write("several.yaml", text)).json["diagnostics"]
    same([(d["code"], d["line"]) for d in found],
         [("FX0204", 5), ("FX0201", 6), ("FX0204", 30), ("FX0204", 31)])
    same(found[1]["help"], "did you mean 'capacity'?")


def words_of_a_missing_key():
    found = Run("compile", "-j", write("missing.yaml", GRAPH.replace("    owner: borrow\n", ""))).json["diagnostics"]
    same(found[0]["help"], "'owner' is one of: transfer, borrow, share")


def broken_config_is_json():
    found = Run("model", "-j", write("broken.json", "{ \"a\": 1,\n"), "--tokens", 256).json["diagnostics"]
    same(found[0]["code"], "FX0101")
    want(found[0]["message"].startswith("this is not JSON"), found[0]["message"])


def pasted_help():
    """What the help about a race says is right for all instances."""
    def helps(graph, wanted, where):
        found = Run("compile", "-j", write("race.yaml", graph)).json["diagnostics"]
        same([d["code"] for d in found], ["FX0601"], graph)
        same(found[0]["help"].rsplit(": ", 1)[-1], f"[ {wanted} ]", found[0]["help"])
        at = graph.index(f"  - edge: {where}\n") + len(f"  - edge: {where}\n")
        sound(f"{graph[:at]}    after: [ {wanted} ]\n{graph[at:]}")

    loose = GRAPH.replace("    after: [ out[i] ]\n", "").replace("    order: acquire\n", "")
    helps(loose, "out[i]", "back")
    before, back = loose.split("  - edge: back")
    other = "  - edge: back" + back.replace("i in n", "k in n").replace("i * bytes", "k * bytes")
    helps(before + other, "out[k]", "back")
    whole = "  - edge: back" + back.replace("    for: i in n\n", "").replace("at: i * bytes", "at: 0")
    helps(before + whole.replace("bytes: size", "bytes: n * size"), "out[*]", "back")
    alone = before.replace("    order: release\n", "").replace("at: i * bytes", "at: 0").replace("from: gpu", "from: host")
    helps(alone, "out[i - 1]?", "out")


def tests():
    cases = []
    for code, part, faulty, twin in REPLACED:
        want(part in GRAPH, part)
        text = GRAPH.replace(part, faulty, 1)
        same_as = GRAPH if twin == "" else None if twin is None else GRAPH.replace(part, twin, 1)
        cases.append((code, f"{faulty.strip()[:60]!r}", graph_case, text, same_as))
    cases += [(code, "whole text", graph_case, faulty, twin) for code, faulty, twin in [*WHOLE, *wire(), *generated()]]
    cases += [(code, f"config {change}", model_case, change) for code, change in MODELS]
    cases += [(code, "policy", policy_case, faulty, twin) for code, faulty, twin in POLICIES]
    cases += [(code, "guard in the module", policy_case, faulty, twin) for code, faulty, twin in call_cases.BODIES]
    cases += [(code, "its line", line_case, graph, *case) for code, graph, *case in call_cases.lines(GRAPH, WIRE)]
    cases += [(code, "portable policy", portable_case, faulty, twin) for code, faulty, twin in PORTABLES]
    cases += [(code, f"{device} policy", gpu_case, device, faulty, twin) for code, device, faulty, twin in GPU_POLICIES]
    cases += [(1412, "map on a GPU", gpu_map_case), (1413, "slow helper", gpu_slow_case)]
    cases += [(code, "policy for a DPU", dpu_case, faulty, twin) for code, faulty, twin in dpu_cases.CASES]
    cases.append((3009, "--device", device_case))
    cases.append((1111, "the line", map_at_its_line))
    return [(f"FX{code:04} {name}", function, code, *args) for code, name, function, *args in cases] + \
        [("all codes are covered", all_covered, cases), ("all errors of a pass", several), ("pasted help", pasted_help),
         ("words of a missing key", words_of_a_missing_key), ("broken config is JSON", broken_config_is_json)]


sys.exit(main(tests()))

# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the tests of the command share: running it, and TAP."""

import atexit
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True

# A shell's & and nohup leave these ignored, and so would every command that a test
# starts and ends by one of them.
for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, signal.SIG_DFL)

TOP = Path(__file__).resolve().parents[2]
OUT = Path(os.environ.get("FX_OUT", TOP / "build"))
SANITIZED = OUT / "tests/bin/fabricctl-asan"
PLAIN = OUT / "bin/fabricctl"
MODELS = Path(os.environ.get("FX_MODELS", TOP.parent / "shared/data/models"))
DEFAULT_MODEL = TOP / "bpf/graphs/models/llama-3.1-8b.json"
TMP = Path(tempfile.mkdtemp(prefix="loader_test."))
atexit.register(shutil.rmtree, TMP, ignore_errors=True)

# A graph that uses what is built; the tests change parts of it.
GRAPH = """\
fabric_ext: 1
graph: g
params: { n: 4, size: 64KiB }
places:
  gpu: { kind: gpu, match: { driver: vgem } }
  host: { kind: dram, match: { node: 0 }, capacity: 16MiB }
  cxl: { kind: cxl, match: { region: region0 } }
links:
  - { between: [gpu, host], bandwidth: 55GB/s, latency: 1us }
  - { between: [host, cxl] }
alias:
  kv: { bytes: n * size }
edges:
  - edge: out
    for: i in n
    from: gpu
    to: [host, cxl]
    bytes: size
    element: bf16
    alias: { set: kv, at: i * bytes }
    owner: transfer
    order: release
    transform: [ quantize: { to: mxfp8 }, checksum: { algo: crc32c } ]
  - edge: back
    for: i in n
    from: host
    to: gpu
    bytes: size
    alias: { set: kv, at: i * bytes }
    owner: borrow
    order: acquire
    after: [ out[i] ]
"""

POLICY = """\
#include <fabric_ext/policy.bpf.h>

FX_ADMIT(args)
{
	return 0;
}

FX_POLICY(p, .admit = (void *)fx_admit);

char LICENSE[] SEC("license") = "Dual BSD/GPL";
"""


class Run:
    """One call of fabricctl: .rc, .out, .err, and .json with -j."""

    def __init__(self, *args, program=SANITIZED, env=None, timeout=120):
        done = subprocess.run([program, *map(str, args)], stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=timeout, check=False,
                              env={**os.environ, **(env or {})})
        self.rc = done.returncode
        self.raw = done.stdout
        self.out = done.stdout.decode("utf-8", "replace")
        self.err = done.stderr.decode("utf-8", "replace")
        if "Sanitizer" in self.err or "runtime error" in self.err or self.rc not in (0, 1, 2):
            raise AssertionError(f"{args}: status {self.rc}\n{self.err}")

    @property
    def json(self):
        return json.loads(self.out)


def write(name, text):
    path = TMP / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def want(true, *what):
    if not true:
        raise AssertionError(" ".join(map(str, what)) or "wanted otherwise")


def same(have, wanted, *what):
    want(have == wanted, *what, f"have {have!r}, want {wanted!r}")


class Skip(Exception):
    pass


def main(tests):
    """Run (name, function, arguments...) and print TAP."""
    failed = False
    print("TAP version 13")
    print(f"1..{len(tests)}")
    for number, (name, function, *args) in enumerate(tests, 1):
        try:
            function(*args)
            print(f"ok {number} - {name}", flush=True)
        except Skip as reason:
            print(f"ok {number} - {name} # SKIP {reason}", flush=True)
        except (AssertionError, OSError, ValueError, KeyError, IndexError,
                subprocess.TimeoutExpired) as error:
            failed = True
            print(f"not ok {number} - {name}")
            for line in f"{type(error).__name__}: {error}".splitlines():
                print(f"# {line}", flush=True)
    return 1 if failed else 0

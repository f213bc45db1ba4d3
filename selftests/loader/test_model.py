#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""fabricctl model: shapes of published models, graphs that compile as they are."""

import json
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.dont_write_bytecode = True
from fxtest import DEFAULT_MODEL, MODELS, PLAIN, POLICY, TMP, Run, Skip, main, same, want, write  # noqa: E402

# file, layers, head_dim, KV KiB per token, MiB of weights per layer (active)
PUBLISHED = [
    ("meta-llama--Meta-Llama-3.1-8B.json", 32, 128, 128, 416),
    ("meta-llama--Meta-Llama-3.1-70B.json", 80, 128, 320, 1632),
    ("Qwen--Qwen3-8B.json", 36, 128, 144, 368),
    ("Qwen--Qwen3-30B-A3B.json", 48, 128, 96, 109),
    ("Qwen--Qwen3-235B-A22B.json", 94, 128, 188, 425),
    ("mistralai--Mixtral-8x7B-v0.1.json", 32, 128, 128, 752),
    ("deepseek-ai--DeepSeek-V3.json", 61, 192, 68.6, 1116),
]


def published(name):
    path = MODELS / name
    if not path.exists():
        raise Skip(f"the published {name} is not on this machine")
    return path


def shapes(path, layers, head_dim, kv_kib, weights_mib):
    o = Run("model", "-j", path, "--tokens", 1024).json
    same(o["layers"], layers)
    same(o["head_dim"], head_dim)
    want(abs(o["kv_bytes_per_token"] / 1024 - kv_kib) < 0.05, "KV per token", o["kv_bytes_per_token"])
    want(abs(o["layer_weight_bytes_active"] / 2**20 - weights_mib) < 1, "weights", o["layer_weight_bytes_active"])
    same(o["kv_bytes"], o["kv_bytes_per_token"] * 1024)
    same(o["kv_block_bytes"] % 4096, 0)


def published_shapes(name, *wanted):
    shapes(published(name), *wanted)


def same_figures():
    """The project's own file has the published figures."""
    theirs = json.loads(published("meta-llama--Meta-Llama-3.1-8B.json").read_text(encoding="utf-8"))
    for key, value in json.loads(DEFAULT_MODEL.read_text(encoding="utf-8")).items():
        same(value, theirs[key], key)


def compiles(path, tokens):
    graph, bundle = TMP / "graph.yaml", TMP / "bundle"
    same(Run("model", path, "--tokens", tokens, "-o", graph, program=PLAIN).rc, 0)
    run = Run("compile", "-j", graph, write("p.bpf.c", POLICY), "-o", bundle, program=PLAIN)
    same(run.rc, 0, run.out, run.err)
    obligations = json.loads((bundle / "obligations.json").read_text(encoding="utf-8"))["obligations"]
    status = {o["code"]: o["status"] for o in obligations}
    for code in ("order.no_cycle", "alias.race", "own.home", "placement.path"):
        same(status[code], "proved", code)


def all_compile(tokens):
    paths = sorted(MODELS.glob("*.json"))
    if not paths:
        raise Skip("the published configs are not on this machine")
    for path in paths:
        compiles(path, tokens)


def default_compiles():
    for tokens in (128, 1024, 65536):
        compiles(DEFAULT_MODEL, tokens)
    # and under the sanitizers
    same(Run("model", DEFAULT_MODEL, "--tokens", 2048, "-o", TMP / "g.yaml").rc, 0)
    same(Run("compile", TMP / "g.yaml").rc, 0)


def evaluate(params, text):
    """Expressions of a generated graph, by Python."""
    text = re.sub(r"(?<!/)/(?!/)", "//", text)
    return eval(text, {"__builtins__": {}}, params)  # pylint: disable=eval-used


def read(text):
    """Parameters and edges of a generated graph, read without fabricctl."""
    params, edges = {}, []
    section = None
    for line in text.splitlines():
        line = re.sub(r"\s*#.*", "", line)
        if re.match(r"\w+:", line):
            section = line.split(":")[0]
        elif section == "params" and line.strip():
            key, value = line.strip().split(": ", 1)
            params[key] = evaluate(params, value)
        elif section == "edges" and line.startswith("  - edge:"):
            edges.append({"edge": line.split(": ")[1]})
        elif section == "edges" and line.startswith("    "):
            key, value = line.strip().split(": ", 1)
            edges[-1][key] = value
    return params, {e["edge"]: e for e in edges}


def loops(params, edge):
    found = re.findall(r"(\w+) in ([^,\]]+)", edge.get("for", ""))
    return [(name, evaluate(params, count)) for name, count in found]


def total(params, edge):
    """Bytes of all instances, by counting them."""
    def walk(rest, scope):
        if not rest:
            return evaluate(scope, edge["bytes"])
        name, count = rest[0]
        return sum(walk(rest[1:], {**scope, name: i}) for i in range(count))
    return walk(loops(params, edge), params)


def llama_figures():
    """1,024 tokens of Llama-3.1-8B, each figure from the formulas of its paper."""
    params, edges = read(Run("model", DEFAULT_MODEL, "--tokens", 1024).out)
    layers, hidden, ffn, heads, kv_heads, dim, vocab, tokens, e = 32, 4096, 14336, 32, 8, 128, 128256, 1024, 2
    kv = 2 * kv_heads * dim * e * tokens * layers
    same(kv, 128 << 20)
    same(total(params, edges["kv_out"]), kv, "KV written")
    same(loops(params, edges["kv_out"]), [("layer", 32), ("block", 8)])
    tiles = tokens // 128
    same(total(params, edges["kv_in"]), kv // tiles * tiles * (tiles + 1) // 2, "KV streamed")
    same(total(params, edges["kv_back_host"]), kv)
    same(total(params, edges["kv_back_cxl"]), kv // 64 * 33)
    same(total(params, edges["weights_attn"]) + total(params, edges["weights_dense"]),
         e * layers * (2 * hidden * heads * dim + 2 * hidden * kv_heads * dim + 3 * hidden * ffn))
    same(total(params, edges["weights_head"]), e * vocab * hidden)
    same(total(params, edges["ffn_in"]) + total(params, edges["ffn_mid"]) + total(params, edges["ffn_out"]),
         e * tokens * layers * (2 * hidden + 2 * ffn), "FFN, fused")
    same(total(params, edges["qkv"]), e * tokens * layers * (heads + 2 * kv_heads) * dim)
    same(total(params, edges["attn_out"]), e * tokens * layers * heads * dim)
    same(total(params, edges["attn_reduce"]), 4 * tokens * layers * heads * (dim + 2))


def reuse_differs():
    """Each block of KV has a distance of its own; the newest has the least."""
    params, edges = read(Run("model", DEFAULT_MODEL, "--tokens", 1024).out)
    reuse = {(layer, block): evaluate({**params, "layer": layer, "block": block}, edges["kv_out"]["reuse"])
             for layer in range(32) for block in range(8)}
    same(len(set(reuse.values())), 256)
    same(max(reuse.values()), 128 << 20)
    for (layer, block), distance in reuse.items():
        want(distance > 0 and distance % (512 << 10) == 0)
        want(block == 0 or distance < reuse[layer, block - 1], "an older block is nearer")


def experts_move():
    """Layers with experts move each of them; dense ones before them do not."""
    config = {
        "model_type": "deepseek_v3", "hidden_size": 256, "intermediate_size": 512, "num_attention_heads": 4,
        "num_hidden_layers": 5, "vocab_size": 1000, "n_routed_experts": 8, "num_experts_per_tok": 2,
        "n_shared_experts": 1, "moe_intermediate_size": 64, "first_k_dense_replace": 2, "kv_lora_rank": 64,
        "q_lora_rank": 96, "qk_rope_head_dim": 64, "qk_nope_head_dim": 32, "v_head_dim": 48,
    }
    path = write("deepseek.json", json.dumps(config))
    params, edges = read(Run("model", path, "--tokens", 256).out)
    same(total(params, edges["weights_expert"]), 2 * 3 * 8 * 3 * 256 * 64)
    same(total(params, edges["weights_shared"]), 2 * 3 * 3 * 256 * 64)
    same(total(params, edges["weights_dense"]), 2 * 2 * 3 * 256 * 512)
    same(total(params, edges["ffn_mid"]), 2 * 2 * 256 * (2 * 512 + 3 * 3 * 64))
    same(total(params, edges["ffn_in"]), 2 * 256 * 256 * (2 + 3 * 3))
    same(total(params, edges["kv_out"]), (64 + 64) * 2 * 256 * 5)
    same(total(params, edges["weights_attn"]),
         2 * 5 * (256 * 96 + 96 * 4 * 96 + 256 * 128 + 64 * 4 * 80 + 4 * 48 * 256))
    compiles(path, 256)
    # all layers dense but in name, and all with experts
    for dense in (0, 5):
        config["first_k_dense_replace"] = dense
        compiles(write("deepseek.json", json.dumps(config)), 256)
    config["n_shared_experts"] = 0
    config["first_k_dense_replace"] = 0
    compiles(write("deepseek.json", json.dumps(config)), 256)


def head_dim_is_its_own():
    config = json.loads(DEFAULT_MODEL.read_text(encoding="utf-8"))
    config.update(model_type="qwen3", head_dim=256)
    o = Run("model", "-j", write("q.json", json.dumps(config)), "--tokens", 128).json
    same(o["head_dim"], 256)
    same(o["kv_bytes_per_token"], 2 * 8 * 256 * 2 * 32)
    # no key-value heads of their own: one per head
    del config["num_key_value_heads"]
    o = Run("model", "-j", write("q.json", json.dumps(config)), "--tokens", 128).json
    same(o["kv_bytes_per_token"], 2 * 32 * 256 * 2 * 32)


def bad_runs():
    """One sentence each, status 1, and no file."""
    out = TMP / "never.yaml"
    odd = json.loads(DEFAULT_MODEL.read_text(encoding="utf-8"))
    odd.update(num_key_value_heads=1, head_dim=9)
    for args in (
            (DEFAULT_MODEL, "--tokens", 1000), (DEFAULT_MODEL, "--tokens", 0), (DEFAULT_MODEL, "--tokens", -128),
            (DEFAULT_MODEL, "--tokens", 1 << 62), (DEFAULT_MODEL, "--tokens", "many"), (DEFAULT_MODEL,),
            (DEFAULT_MODEL, "--tokens", 1024, "--block", 0), (DEFAULT_MODEL, "--tokens", 1024, "--block", 2048),
            (DEFAULT_MODEL, "--tokens", 1 << 22, "--block", 1), (DEFAULT_MODEL, "--tokens", 1024, "--name", "a/b"),
            (DEFAULT_MODEL, "--tokens", 1024, "--name", "x" * 64), (DEFAULT_MODEL, "--tokens", 1024, "--name", "-x"),
            (TMP, "--tokens", 128), (TMP / "none.json", "--tokens", 128),
            (write("odd.json", json.dumps(odd)), "--tokens", 128),
            ("/dev/null", "--tokens", 128)):
        run = Run("model", *args, "-o", out)
        same(run.rc, 1, args, run.err)
        same(len(run.err.splitlines()), 1, args, run.err)
        want(not out.exists(), args, "leaves a file")
    run = Run("model", DEFAULT_MODEL, "--tokens", 128, "-o", "/nowhere/x.yaml")
    same((run.rc, len(run.err.splitlines())), (2, 1))


def names():
    text = DEFAULT_MODEL.read_bytes()
    for file, name in (("a/meta-llama--Llama-3.1-8B.json", "llama-3.1-8b-prefill"), ("a/config.json", "llama-prefill"),
                       ("a/My Model!.json", "my-model--prefill"), ("a/" + "x" * 90 + ".json", "x" * 55 + "-prefill"),
                       ("a/--.json", "m--prefill"), ("a/.json", "m" + "json-prefill")):
        same(Run("model", "-j", write(file, text), "--tokens", 128).json["graph"], name, file)
    same(Run("model", "-j", DEFAULT_MODEL, "--tokens", 128, "--name", "mine").json["graph"], "mine")


TESTS = [
    *((f"shapes of {row[0]}", published_shapes, *row) for row in PUBLISHED),
    ("shapes of the project's own file", shapes, DEFAULT_MODEL, 32, 128, 128, 416),
    ("its figures are the published ones", same_figures),
    ("its graphs compile", default_compiles),
    *((f"all published models compile at {n} tokens", all_compile, n) for n in (128, 1024, 8192)),
    ("figures of Llama-3.1-8B", llama_figures),
    ("reuse differs per layer and block", reuse_differs),
    ("experts, and dense layers before them", experts_move),
    ("head_dim is a field of its own", head_dim_is_its_own),
    ("bad runs", bad_runs),
    ("names", names),
]

sys.exit(main(TESTS))

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* fabricctl model: a model's config.json into the graph of its prefill. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/fabric_ext.h>

#include "cmd.h"
#include "diag.h"
#include "json.h"
#include "model.h"
#include "util.h"

#define MAX_TOKENS	(1U << 22)
#define PAGE		4096

struct config {
	const char *model, *output, *name;
	u64 tokens, block;
};

static const struct config defaults = { .block = 128 };

/* Instances per layer and block: kv_out, kv_in, attn_reduce, kv_back_* */
#define PER_BLOCK	5
#define PER_LAYER	8

static enum fx_rc check_run(const struct fx_model *m,
			    const struct fx_model_sizes *s,
			    const struct fx_model_run *run)
{
	u64 bytes = s->kv_token * FX_MODEL_ELEM_BYTES * run->block;
	u64 layers = m->v[FX_M_LAYERS], blocks = run->tokens / run->block;
	u64 edges = layers * (blocks * PER_BLOCK + PER_LAYER +
			      m->v[FX_M_EXPERTS]);

	if (run->tokens % run->block) {
		fx_err("--tokens %llu is not a multiple of the block of %llu tokens; round it or give another --block",
		       run->tokens, run->block);
		return FX_RC_INPUT;
	}
	if (bytes % PAGE) {
		fx_err("a block of %llu tokens is %llu bytes of KV, which is no multiple of %d; give a larger power of two as --block",
		       run->block, bytes, PAGE);
		return FX_RC_INPUT;
	}
	if (edges > FX_MAX_EDGES) {
		fx_err("%llu tokens in blocks of %llu make about %llu edge instances, and a graph has at most %u; give a larger --block",
		       run->tokens, run->block, edges, FX_MAX_EDGES);
		return FX_RC_INPUT;
	}
	return FX_RC_OK;
}

/* "meta-llama--Llama-3.1-8B.json" serves as llama-3.1-8b-prefill. */
static char *default_name(const char *path, const char *arch)
{
	static const char tail[] = "-prefill";
	const char *slash = strrchr(path, '/'), *org;
	char *name = fx_strdup(slash ? slash + 1 : path);
	char *dot = strrchr(name, '.'), *whole;
	size_t n;

	if (dot && dot != name)
		*dot = '\0';
	if (!strcmp(name, "config") || !strcmp(name, "user-config")) {
		free(name);
		name = fx_strdup(arch);
	}
	org = strstr(name, "--");
	memmove(name, org && org[2] ? org + 2 : name,
		strlen(org && org[2] ? org + 2 : name) + 1);
	for (n = 0; name[n]; n++) {
		if (name[n] >= 'A' && name[n] <= 'Z')
			name[n] += 'a' - 'A';
		if (!fx_is_word(name[n]) && (!n || !strchr(".-", name[n])))
			name[n] = n ? '-' : 'm';
	}
	if (n > FX_NAME_LEN - sizeof(tail))
		name[FX_NAME_LEN - sizeof(tail)] = '\0';
	whole = fx_asprintf("%s%s", name, tail);
	free(name);
	return whole;
}

static enum fx_rc check_name(const char *name)
{
	size_t len = strlen(name);
	bool ok = len && len < FX_NAME_LEN && fx_is_word(name[0]);

	for (size_t i = 0; i < len; i++)
		ok = ok && (fx_is_word(name[i]) || strchr(".-", name[i]));
	if (!ok)
		fx_err("--name '%s' cannot name a graph: letters, digits, _ . and -, at most %d, no . or - first",
		       name, FX_NAME_LEN - 1);
	return ok ? FX_RC_OK : FX_RC_INPUT;
}

/*
 * Whole or not at all: a file beside it that takes its name, while signals
 * wait. What would take the name of a device, such as /dev/null, is refused.
 */
static enum fx_rc write_file(const char *path, const char *text, size_t len)
{
	char *tmp = fx_asprintf("%s.XXXXXX", path);
	enum fx_rc rc = FX_RC_SYSTEM;
	mode_t mask = umask(0);
	sigset_t all, before;
	struct stat st;
	FILE *f = NULL;
	int fd;

	umask(mask);
	if (!stat(path, &st) && !S_ISREG(st.st_mode)) {
		fx_err("%s is no regular file; give -o another name, or leave it out and the graph goes to standard output",
		       path);
		free(tmp);
		return FX_RC_INPUT;
	}
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	fd = mkstemp(tmp);
	f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!f) {
		fx_err("%s cannot be written: %s", path, strerror(errno));
		goto out;
	}
	if (fwrite(text, 1, len, f) == len && !fflush(f) &&
	    !fchmod(fd, 0666 & ~mask) && !fsync(fd) && !rename(tmp, path))
		rc = FX_RC_OK;
	else
		fx_err("%s cannot be written: %s", path, strerror(errno));
	fclose(f);
	if (rc != FX_RC_OK)
		unlink(tmp);
out:
	sigprocmask(SIG_SETMASK, &before, NULL);
	free(tmp);
	return rc;
}

static void report(const struct fx_model *m, const struct fx_model_sizes *s,
		   const struct fx_model_run *run, const struct config *c,
		   const char *text)
{
	const u64 e = FX_MODEL_ELEM_BYTES, layers = m->v[FX_M_LAYERS];
	struct json_object *o;

	if (!fx_json_mode) {
		if (c->output)
			printf("graph %s: %s, %llu layers, %llu tokens\n"
			       "KV: %llu MiB in %llu blocks\n"
			       "written to %s\n",
			       run->name, m->arch, layers, run->tokens,
			       s->kv_token * e * run->tokens * layers >> 20,
			       layers * (run->tokens / run->block), c->output);
		else
			fputs(text, stdout);
		return;
	}
	o = fx_json_object();
	fx_json_str(o, "graph", run->name);
	fx_json_str(o, "architecture", m->arch);
	fx_json_u64(o, "layers", layers);
	fx_json_u64(o, "tokens", run->tokens);
	fx_json_u64(o, "block_tokens", run->block);
	fx_json_u64(o, "head_dim", m->v[FX_M_HEAD_DIM]);
	fx_json_u64(o, "kv_bytes_per_token", s->kv_token * e * layers);
	fx_json_u64(o, "kv_block_bytes", s->kv_token * e * run->block);
	fx_json_u64(o, "kv_bytes", s->kv_token * e * run->tokens * layers);
	fx_json_u64(o, "layer_weight_bytes_active", s->w_active * e);
	fx_json_str(o, "file", c->output);
	if (!c->output)
		fx_json_str(o, "text", text);
	fx_json_print(o);
}

static enum fx_rc run(const void *config)
{
	const struct config *c = config;
	struct fx_model_run run = { .tokens = c->tokens, .block = c->block };
	struct fx_model_sizes sizes;
	struct fx_model model;
	char *text = NULL, *name = NULL;
	size_t len;
	enum fx_rc rc;
	FILE *f;

	rc = fx_model_read(c->model, &model);
	if (rc != FX_RC_OK)
		return rc;
	fx_model_sizes(&model, &sizes);
	name = c->name ? fx_strdup(c->name) :
	       default_name(c->model, model.arch);
	run.name = name;
	rc = check_name(name);
	if (rc == FX_RC_OK)
		rc = check_run(&model, &sizes, &run);
	if (rc != FX_RC_OK)
		goto out;
	f = open_memstream(&text, &len);
	if (!f) {
		fx_err("out of memory");
		rc = FX_RC_SYSTEM;
		goto out;
	}
	fx_model_write(&model, &run, f);
	if (fclose(f)) {
		fx_err("out of memory");
		rc = FX_RC_SYSTEM;
		goto out;
	}
	if (c->output)
		rc = write_file(c->output, text, len);
	if (rc == FX_RC_OK)
		report(&model, &sizes, &run, c, text);
out:
	free(text);
	free(name);
	return rc;
}

static const struct fx_operand operands[] = {
	{ "CONFIG", "config.json of a Llama, Qwen3, Qwen3-MoE, Mixtral or DeepSeek-V3",
	  offsetof(struct config, model) },
	{ }
};

static const struct fx_option options[] = {
	{ "tokens", 't', FX_OPT_NUMBER, .required = true, .value = "N",
	  .help = "length of the prompt, a multiple of the block",
	  .at = offsetof(struct config, tokens), .min = 1, .max = MAX_TOKENS },
	{ "block", 'b', FX_OPT_NUMBER, .value = "N",
	  .help = "tokens that move together, 128 without it",
	  .at = offsetof(struct config, block), .min = 1, .max = MAX_TOKENS },
	{ "output", 'o', FX_OPT_STRING, .value = "FILE",
	  .help = "the graph; standard output without it",
	  .at = offsetof(struct config, output) },
	{ "name", 'n', FX_OPT_STRING, .value = "NAME",
	  .help = "of the graph; from CONFIG's name without it",
	  .at = offsetof(struct config, name) },
	{ }
};

const struct fx_command fx_cmd_model = {
	.name = "model",
	.summary = "write the graph of what a language model's prefill moves",
	.details = "  Weights, activations, KV written and streamed, attention's reductions and\n"
		   "  the feed-forward intermediates, per layer and block of tokens, as YAML for\n"
		   "  `fabricctl compile`.\n",
	.operands = operands,
	.options = options,
	.config_size = sizeof(struct config),
	.defaults = &defaults,
	.run = run,
};

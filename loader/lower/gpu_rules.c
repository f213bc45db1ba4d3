// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <bpf/libbpf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../diag.h"
#include "../graph/codes.h"
#include "../util.h"
#include "gpu_rules.h"
#include "insn.h"

static const struct fx_helper_rule cpu_helpers[] = {
	{ 1, "bpf_map_lookup_elem" }, { 2, "bpf_map_update_elem" },
	{ 3, "bpf_map_delete_elem" }, { 4, "bpf_probe_read" },
	{ 5, "bpf_ktime_get_ns" }, { 6, "bpf_trace_printk" },
	{ 7, "bpf_get_prandom_u32" }, { 8, "bpf_get_smp_processor_id" },
	{ 14, "bpf_get_current_pid_tgid" }, { 15, "bpf_get_current_uid_gid" },
	{ 16, "bpf_get_current_comm" }, { 25, "bpf_perf_event_output" },
	{ 45, "bpf_probe_read_str" }, { 112, "bpf_probe_read_user" },
	{ 113, "bpf_probe_read_kernel" }, { 114, "bpf_probe_read_user_str" },
	{ 130, "bpf_ringbuf_output" }, { 131, "bpf_ringbuf_reserve" },
	{ 132, "bpf_ringbuf_submit" }, { 133, "bpf_ringbuf_discard" },
	{ 160, "bpf_ktime_get_coarse_ns" }, { 174, "bpf_get_attach_cookie" },
	{ 182, "bpf_strncmp" },
};

static const struct fx_map_rule cpu_maps[] = {
	{ BPF_MAP_TYPE_HASH, "HASH" }, { BPF_MAP_TYPE_ARRAY, "ARRAY" },
	{ BPF_MAP_TYPE_PERF_EVENT_ARRAY, "PERF_EVENT_ARRAY" },
	{ BPF_MAP_TYPE_PERCPU_HASH, "PERCPU_HASH" },
	{ BPF_MAP_TYPE_PERCPU_ARRAY, "PERCPU_ARRAY" },
	{ BPF_MAP_TYPE_RINGBUF, "RINGBUF" },
};

/* maps of the glue, without a class: a name of another device's is the policy's */
static const char *const cpu_glue[] = {
	"fx_copy_counts", "fx_copy_totals", "fx_copy_turns", "fx_copy_records",
	"fx_copy_threads", NULL
};

const struct fx_device_rules fx_bpftime_rules = {
	.device = "bpftime", .glue = cpu_glue,
	.helper = cpu_helpers, .n_helper = ARRAY_SIZE(cpu_helpers),
	.map = cpu_maps, .n_map = ARRAY_SIZE(cpu_maps),
	.helpers_help = "fx_now(), fx_at() and fx_count() of <fabric_ext/portable.bpf.h> are on every device",
	.maps_help = "FX_MAP(local, ...) and FX_MAP(counter, ...) are arrays that it has",
};

static const struct fx_helper_rule cuda_helpers[] = {
	{ 1, "bpf_map_lookup_elem" }, { 2, "bpf_map_update_elem" },
	{ 3, "bpf_map_delete_elem", FX_H_SLOW },
	{ 6, "bpf_trace_printk", FX_H_SLOW },
	{ 14, "bpf_get_current_pid_tgid", FX_H_SLOW },
	{ 25, "bpf_perf_event_output", FX_H_RING },
	{ 501, "ebpf_puts", FX_H_SLOW },
	{ 502, "bpf_get_globaltimer", FX_H_VARIES, "the clock, which each lane reads for itself" },
	{ 503, "bpf_get_block_idx", FX_H_FILLS | FX_H_VARIES, "the index of the lane's block" },
	{ 504, "bpf_get_block_dim", FX_H_FILLS },
	{ 505, "bpf_get_thread_idx", FX_H_FILLS | FX_H_VARIES, "the index of the lane's thread" },
	{ 507, "bpf_cuda_exit", FX_H_EXIT },
	{ 508, "bpf_get_grid_dim", FX_H_FILLS },
	{ 509, "bpf_get_sm_id", FX_H_VARIES, "the processor that the lane's block is on" },
	{ 510, "bpf_get_warp_id", FX_H_VARIES, "the lane's warp" },
	{ 511, "bpf_get_lane_id", FX_H_VARIES, "the number of the lane" },
};

/* what is not here goes to the host for each access, by helpers that wait */
static const struct fx_map_rule cuda_maps[] = {
	{ FX_BPFTIME_GPU_HASH, "GPU_HASH_MAP", .slow = true },
	{ FX_BPFTIME_GPU_PER_LANE_ARRAY, "PERGPUTD_ARRAY_MAP", true },
	{ FX_BPFTIME_GPU_ARRAY, "GPU_ARRAY_MAP" },
	{ FX_BPFTIME_GPU_KERNEL_ARRAY, "GPU_KERNEL_SHARED_ARRAY_MAP" },
	{ FX_BPFTIME_GPU_RINGBUF, "GPU_RINGBUF_MAP", true },
};

static const char *const cuda_glue[] = { "fx_copy_counts", NULL };

const struct fx_device_rules fx_cuda_rules = {
	.device = "cuda", .glue = cuda_glue,
	.helper = cuda_helpers, .n_helper = ARRAY_SIZE(cuda_helpers),
	.map = cuda_maps, .n_map = ARRAY_SIZE(cuda_maps),
	.helpers_help = "fx_now(), fx_at() and fx_count() of <fabric_ext/portable.bpf.h> are on every device",
	.maps_help = "FX_MAP(local, ...) is one array for all lanes, FX_MAP(counter, ...) one for each",
};

/* what <fabric_ext/ptx.bpf.h> has, by what stands for it in eBPF */
static const struct fx_helper_rule ptx_helpers[] = {
	{ 1, "bpf_map_lookup_elem" }, { 5, "bpf_ktime_get_ns" },
};

static const struct fx_map_rule ptx_maps[] = {
	{ BPF_MAP_TYPE_ARRAY, "ARRAY" }, { BPF_MAP_TYPE_PERCPU_ARRAY, "PERCPU_ARRAY" },
};

static const char *const no_glue[] = { NULL };

const struct fx_device_rules fx_ptx_rules = {
	.device = "ptx", .glue = no_glue,
	.helper = ptx_helpers, .n_helper = ARRAY_SIZE(ptx_helpers),
	.map = ptx_maps, .n_map = ARRAY_SIZE(ptx_maps),
	.helpers_help = "fx_now(), fx_at() and fx_count() of <fabric_ext/portable.bpf.h> are on every device",
	.maps_help = "FX_MAP(local, ...) and FX_MAP(counter, ...) are arrays in the GPU's memory",
};

const struct fx_helper_rule *fx_helper_rule(const struct fx_device_rules *r, u32 id)
{
	for (u32 i = 0; i < r->n_helper; i++)
		if (r->helper[i].id == id)
			return &r->helper[i];
	return NULL;
}

const struct fx_map_rule *fx_map_rule(const struct fx_device_rules *r, u32 type)
{
	for (u32 i = 0; i < r->n_map; i++)
		if (r->map[i].type == type)
			return &r->map[i];
	return NULL;
}

/* The kernel's names, from the header that numbers them. */
static const char *const kernel_names[] = {
#define NAME(name, n, ...)	[n] = "bpf_" #name,
	___BPF_FUNC_MAPPER(NAME)
#undef NAME
};

char *fx_helper_name(const struct fx_device_rules *r, u32 id)
{
	const struct fx_helper_rule *h = fx_helper_rule(r, id);

	if (h)
		return fx_strdup(h->name);
	if (id < ARRAY_SIZE(kernel_names) && kernel_names[id])
		return fx_strdup(kernel_names[id]);
	return fx_asprintf("number %u", id);
}

/* One file by two names: clang writes the whole path. */
static bool same_file(const char *a, const char *b)
{
	struct stat x, y;

	return !strcmp(a, b) || (!stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev &&
				 x.st_ino == y.st_ino);
}

struct fx_pos fx_code_pos(const struct fx_code_line *l, const char *source,
			  char **aside)
{
	struct fx_pos pos = { 0 };
	const char *file = l->file, *slash;

	*aside = NULL;
	if (!l->line || !file)
		return pos;
	if (same_file(file, source)) {
		pos.line = l->line;
		pos.col = l->col;
		return pos;
	}
	/* what the headers expand to, by the name that #include has */
	slash = strrchr(file, '/');
	*aside = fx_asprintf(", in %s:%u", slash ? slash + 1 : file, l->line);
	return pos;
}

bool fx_told(struct fx_told *t, const struct fx_code_line *l, u32 what)
{
	if (!l->line)
		return false;
	for (u32 i = 0; i < t->n; i++)
		if (t->place[i].line == l->line && t->place[i].col == l->col &&
		    t->place[i].file == l->file && t->place[i].what == what)
			return true;
	fx_grow(t->place, t->n, t->cap);
	t->place[t->n++] = (struct fx_code_place){ l->file, l->line, l->col, what };
	return false;
}

/* There is no other that takes what is put out. */
static bool has_ring(const struct fx_bytecode *c)
{
	for (u32 i = 0; i < c->n_map; i++)
		if (c->map[i].type == FX_BPFTIME_GPU_RINGBUF)
			return true;
	return false;
}

static void tell_helper(const struct fx_bytecode *c, const struct fx_code_prog *p, u32 at,
			const struct fx_device_rules *r, const char *source,
			bool lanes, struct fx_diags *d)
{
	char *name = fx_helper_name(r, p->insn[at].imm), *aside;
	struct fx_pos pos = fx_code_pos(&p->line[at], source, &aside);
	const struct fx_helper_rule *h = fx_helper_rule(r, p->insn[at].imm);

	if (!h && !lanes)
		fx_diag_help(fx_diag(d, FX_E_GPU_HELPER, pos,
				     "'%s' calls the helper %s, which the device '%s' does not have%s",
				     p->name, name, r->device, aside ? aside : ""),
			     "%s", r->helpers_help);
	else if (h && h->flags & FX_H_RING && !has_ring(c))
		fx_diag_help(fx_diag(d, FX_E_GPU_HELPER, pos,
				     "'%s' calls %s, which on the device '%s' takes maps of type GPU_RINGBUF_MAP (%u) alone, and there is none%s",
				     p->name, name, r->device, FX_BPFTIME_GPU_RINGBUF,
				     aside ? aside : ""),
			     "count by fx_count() what is to be seen from outside");
	else if (h && h->flags & FX_H_SLOW)
		fx_diag_warning(fx_diag(d, FX_E_GPU_SLOW, pos,
					"'%s' calls %s, which on the device '%s' is a round trip to the host, one lane after the other%s",
					p->name, name, r->device, aside ? aside : ""));
	free(name);
	free(aside);
}

/* Is it what the compiler made for constants? */
static bool are_constants(const struct fx_bytecode *c, const struct fx_code_map *m)
{
	const struct bpf_map *map = c->obj ? bpf_object__find_map_by_name(c->obj, m->name) : NULL;

	return map && bpf_map__is_internal(map) && bpf_map__map_flags(map) & BPF_F_RDONLY_PROG;
}

static void check_map(const struct fx_bytecode *c, const struct fx_code_map *m,
		      const struct fx_device_rules *r, struct fx_diags *d)
{
	const struct fx_map_rule *rule = fx_map_rule(r, m->type);
	static const struct fx_pos whole;
	struct fx_diag *g;

	if (rule && rule->slow) {
		g = fx_diag(d, FX_E_GPU_SLOW, whole,
			    "each access to the map '%s' (%s) is on the device '%s' a round trip to the host, one lane after the other, and an entry's address is the host's",
			    m->name, rule->name, r->device);
		fx_diag_help(g, "FX_MAP(local, ...) and FX_MAP(counter, ...) are in the GPU's memory");
		fx_diag_warning(g);
	}
	if (rule)
		return;
	if (are_constants(c, m))
		fx_diag_help(fx_diag(d, FX_E_GPU_MAP, whole,
				     "the policy has constants in memory (%s), and the device '%s' has no place for them",
				     m->name, r->device),
			     "the text of bpf_printk(), a table, and a struct or an array that is initialised as a whole lie there: assign members one by one, write numbers as macros, keep a table in an FX_MAP(local, ...)");
	else
		fx_diag_help(fx_diag(d, FX_E_GPU_MAP, whole,
				     "the map '%s' is of type %u, which the device '%s' does not have",
				     m->name, m->type, r->device),
			     "%s", r->maps_help);
}

void fx_check_rules(const struct fx_bytecode *c, const struct fx_device_rules *r,
		    const char *source, bool lanes, struct fx_diags *d)
{
	struct fx_told told = { 0 };

	for (u32 i = 0; i < c->n_map; i++)
		check_map(c, &c->map[i], r, d);
	for (u32 i = 0; i < c->n_prog; i++) {
		const struct fx_code_prog *p = &c->prog[i];

		for (u32 at = 0; at < p->n; at += fx_insn_len(&p->insn[at])) {
			const struct bpf_insn *insn = &p->insn[at];

			if (insn->code == (BPF_JMP | BPF_CALL) && !insn->src_reg &&
			    !fx_told(&told, &p->line[at], insn->imm))
				tell_helper(c, p, at, r, source, lanes, d);
		}
	}
	free(told.place);
}

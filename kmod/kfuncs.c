// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a policy may call. Each takes the op's own argument, or its head
 * (struct fx_call, the first member): from there it knows the graph. A bad
 * argument ends the policy (FX_EXIT_KFUNC): a policy that asks for what its
 * graph does not have does not know what it is doing.
 */
#include <linux/bpf.h>
#include <linux/btf.h>
#include <linux/btf_ids.h>
#include <linux/dma-buf.h>
#include "compat.h"
#include "observe.h"
#include "ops.h"
#include "place.h"
#include "tag.h"

/**
 * struct fx_buf_tag - what the tag of a dma-buf says
 * @edge: edge instance, or FX_EDGE_NONE
 * @place: where the buffer lives, or FX_PLACE_NONE
 * @alias: alias set of the edge's class, or FX_ALIAS_NONE
 * @reserved: 0
 * @at: offset in the alias set, bytes
 * @bytes: of the edge instance
 */
struct fx_buf_tag {
	u32 edge;
	u32 place;
	u32 alias;
	u32 reserved;
	u64 at;
	u64 bytes;
};

static struct fx_graph *fx_call_graph(const struct fx_call *call)
{
	return ((struct fx_policy *)call->policy)->graph;
}

__bpf_kfunc_start_defs();

/**
 * fx_bpf_edge() - look an edge instance up
 * @call: head of the op's argument
 * @edge: its index; FX_EDGE_NONE finds nothing, any other that the graph
 *	does not have ends the policy
 *
 * Context: any op.
 * Return: the edge, read-only, valid during the op; or NULL.
 */
__bpf_kfunc struct fx_edge *fx_bpf_edge(struct fx_call *call, u32 edge)
{
	struct fx_policy *p = call->policy;
	struct fx_edge *e = fx_edge_at(p->graph, edge);

	if (!e && edge != FX_EDGE_NONE)
		fx_eject(p, FX_EXIT_KFUNC, "%s(): no edge %u", __func__, edge);
	return e;
}

/**
 * fx_bpf_class() - look the class of an edge instance up
 * @call: head of the op's argument
 * @edge: index of the instance, as for fx_bpf_edge()
 *
 * Context: any op.
 * Return: the class, read-only, valid during the op; or NULL.
 */
__bpf_kfunc struct fx_class *fx_bpf_class(struct fx_call *call, u32 edge)
{
	struct fx_policy *p = call->policy;
	struct fx_edge *e = fx_edge_at(p->graph, edge);

	if (e)
		return fx_class_of(p->graph, e);
	if (edge != FX_EDGE_NONE)
		fx_eject(p, FX_EXIT_KFUNC, "%s(): no edge %u", __func__, edge);
	return NULL;
}

/**
 * fx_bpf_place() - look a place up
 * @call: head of the op's argument
 * @place: its index; FX_PLACE_NONE finds nothing, any other that the graph
 *	does not have ends the policy
 *
 * Context: any op.
 * Return: the place, read-only, valid during the op; or NULL.
 */
__bpf_kfunc struct fx_place *fx_bpf_place(struct fx_call *call, u32 place)
{
	struct fx_policy *p = call->policy;
	struct fx_place *pl = fx_place_at(p->graph, place);

	if (!pl && place != FX_PLACE_NONE)
		fx_eject(p, FX_EXIT_KFUNC, "%s(): no place %u", __func__, place);
	return pl;
}

/**
 * fx_bpf_place_used() - how full a place is
 * @call: head of the op's argument
 * @place: its index, as for fx_bpf_place()
 *
 * Context: any op.
 * Return: bytes of the buffers that the engine holds there, or -ENOENT.
 */
__bpf_kfunc s64 fx_bpf_place_used(struct fx_call *call, u32 place)
{
	struct fx_place *pl = fx_bpf_place(call, place);

	return pl ? atomic64_read(&pl->used) : -ENOENT;
}

/**
 * fx_bpf_dev_place() - which place the device of an operation is
 * @args: argument of admit
 *
 * Compares names: ask only where the answer matters.
 *
 * Context: admit.
 * Return: place index, or FX_PLACE_NONE.
 */
__bpf_kfunc u32 fx_bpf_dev_place(struct fabric_ext_admit_args *args)
{
	return fx_place_of_dev(fx_call_graph(&args->call), args->dev);
}

/**
 * fx_bpf_buf_place() - which place the dma-buf of an operation lives at
 * @args: argument of admit
 *
 * By its tag, else by its exporter's name.
 *
 * Context: admit.
 * Return: place index, or FX_PLACE_NONE.
 */
__bpf_kfunc u32 fx_bpf_buf_place(struct fabric_ext_admit_args *args)
{
	struct fx_graph *g = fx_call_graph(&args->call);
	struct dma_buf *dmabuf = args->dmabuf;
	u32 place = FX_PLACE_NONE;
	const struct fx_tag *tag;

	if (!dmabuf)
		return FX_PLACE_NONE;
	rcu_read_lock();
	tag = fx_tag_find(dmabuf);
	if (tag && tag->graph == g)
		place = tag->place;
	rcu_read_unlock();
	return place != FX_PLACE_NONE ? place :
		fx_place_of_exporter(g, dmabuf->exp_name);
}

/**
 * fx_bpf_buf_tag() - read the tag of an operation's dma-buf
 * @args: argument of admit
 * @tag: filled in (struct fx_buf_tag)
 * @tag__sz: its size in bytes, at least that of struct fx_buf_tag
 *
 * Context: admit.
 * Return: 0; -ENOENT for a buffer without a tag of this graph; -EINVAL, and
 * the end of the policy, for a size that is too small.
 */
__bpf_kfunc int fx_bpf_buf_tag(struct fabric_ext_admit_args *args, void *tag, u32 tag__sz)
{
	struct fx_policy *p = args->call.policy;
	struct fx_graph *g = p->graph;
	struct fx_buf_tag *out = tag;
	const struct fx_tag *t;
	struct fx_edge *e;
	int err = -ENOENT;

	if (tag__sz < sizeof(*out)) {
		fx_eject(p, FX_EXIT_KFUNC, "%s(): tag__sz %u is below %zu", __func__,
			 tag__sz, sizeof(*out));
		return -EINVAL;
	}
	memset(out, 0, sizeof(*out));
	if (!args->dmabuf)
		return -ENOENT;
	rcu_read_lock();
	t = fx_tag_find(args->dmabuf);
	if (t && t->graph == g) {
		e = fx_edge_at(g, t->edge);
		out->edge = t->edge;
		out->place = t->place;
		out->alias = e ? fx_class_of(g, e)->desc.alias : FX_ALIAS_NONE;
		out->at = e ? e->desc.alias_at : 0;
		out->bytes = e ? e->desc.bytes : 0;
		err = 0;
	}
	rcu_read_unlock();
	return err;
}

/**
 * fx_bpf_event() - emit an event of the policy's own
 * @call: head of the op's argument
 * @arg0: whatever the policy means by it
 * @arg1: likewise
 *
 * Context: any op.
 * Return: 0.
 */
__bpf_kfunc int fx_bpf_event(struct fx_call *call, u64 arg0, u64 arg1)
{
	struct fx_event ev = {
		.type = FX_EV_POLICY,
		.op = call->op,
		.edge = call->edge,
		.place = FX_PLACE_NONE,
		.arg0 = arg0,
		.arg1 = arg1,
	};

	fx_emit(fx_call_graph(call), &ev);
	return 0;
}

/**
 * fx_bpf_error() - the policy gives up
 * @call: head of the op's argument
 * @msg__str: why, a constant string; shown by `fabricctl show`
 *
 * Its graph is by-passed from here on; what this op still answers is checked
 * as always.
 *
 * Context: any op.
 */
__bpf_kfunc void fx_bpf_error(struct fx_call *call, const char *msg__str)
{
	fx_eject(call->policy, FX_EXIT_ERROR, "%s", msg__str);
}

/**
 * fx_bpf_dump() - tell a value of the policy's state
 * @args: argument of dump or exit
 * @key__str: its name, a constant string
 * @value: the value
 *
 * Context: dump and exit.
 * Return: 0, or -ENOSPC when FX_EXIT_DUMP_LEN is full.
 */
__bpf_kfunc int fx_bpf_dump(struct fabric_ext_exit_args *args, const char *key__str, u64 value)
{
	struct fx_graph *g = fx_call_graph(&args->call);
	size_t room = sizeof(g->exit_dump) - g->dump_len;
	int n;

	lockdep_assert_held(&g->owner);
	n = snprintf(g->exit_dump + g->dump_len, room, "%s=%llu\n", key__str, value);
	if (n < 0 || n >= room) {
		g->exit_dump[g->dump_len] = '\0';
		return -ENOSPC;
	}
	g->dump_len += n;
	return 0;
}

__bpf_kfunc_end_defs();

BTF_KFUNCS_START(fx_kfunc_ids)
BTF_ID_FLAGS(func, fx_bpf_edge, KF_TRUSTED_ARGS | KF_RET_NULL)
BTF_ID_FLAGS(func, fx_bpf_class, KF_TRUSTED_ARGS | KF_RET_NULL)
BTF_ID_FLAGS(func, fx_bpf_place, KF_TRUSTED_ARGS | KF_RET_NULL)
BTF_ID_FLAGS(func, fx_bpf_place_used, KF_TRUSTED_ARGS)
BTF_ID_FLAGS(func, fx_bpf_dev_place, KF_TRUSTED_ARGS)
BTF_ID_FLAGS(func, fx_bpf_buf_place, KF_TRUSTED_ARGS)
BTF_ID_FLAGS(func, fx_bpf_buf_tag, KF_TRUSTED_ARGS)
BTF_ID_FLAGS(func, fx_bpf_event, KF_TRUSTED_ARGS)
BTF_ID_FLAGS(func, fx_bpf_error, KF_TRUSTED_ARGS)
BTF_ID_FLAGS(func, fx_bpf_dump, KF_TRUSTED_ARGS)
BTF_KFUNCS_END(fx_kfunc_ids)

static const struct btf_kfunc_id_set fx_kfunc_set = {
	.owner = THIS_MODULE,
	.set = &fx_kfunc_ids,
};

/**
 * fx_kfuncs_register() - make the kfuncs known
 *
 * One set per program type and module; it goes with the module's BTF.
 *
 * Return: 0 or -errno.
 */
int fx_kfuncs_register(void)
{
	return register_btf_kfunc_id_set(BPF_PROG_TYPE_STRUCT_OPS, &fx_kfunc_set);
}

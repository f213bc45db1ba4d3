// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* `flow:` of an edge: by what its movements are found on a wire. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "codes.h"
#include "parse.h"

/* An address as text; its family, 0 after an error. */
static u8 take_address(struct fx_graph *g, const struct fx_key *k,
		       const struct fx_node *v, u8 *addr)
{
	const char *word = fx_want_word(g, v, k->name, "an IP address");

	if (!word)
		return 0;
	if (inet_pton(AF_INET, word, addr) == 1)
		return 4;
	if (inet_pton(AF_INET6, word, addr) == 1)
		return 6;
	fx_diag_help(fx_diag(g->diags, FX_E_FLOW, v->pos,
			     "'%s' is no IP address", word),
		     "such as 192.0.2.1 or 2001:db8::1; prefixes are not supported yet");
	return 0;
}

static void take_src(struct fx_graph *g, const struct fx_key *k,
		     struct fx_node *v, void *obj)
{
	struct fx_flow_decl *f = &((struct fx_class *)obj)->flow;

	f->src_pos = v->pos;
	f->src_family = take_address(g, k, v, f->src);
}

static void take_dst(struct fx_graph *g, const struct fx_key *k,
		     struct fx_node *v, void *obj)
{
	struct fx_flow_decl *f = &((struct fx_class *)obj)->flow;

	f->dst_pos = v->pos;
	f->dst_family = take_address(g, k, v, f->dst);
}

static void take_proto(struct fx_graph *g, const struct fx_key *k,
		       struct fx_node *v, void *obj)
{
	const char *word = fx_want_word(g, v, k->name, "udp, tcp or a number");
	struct fx_flow_decl *f = &((struct fx_class *)obj)->flow;
	u64 n;

	if (!word)
		return;
	f->has_proto = true;
	f->proto_pos = v->pos;
	if (!strcmp(word, "udp")) {
		f->proto = IPPROTO_UDP;
	} else if (!strcmp(word, "tcp")) {
		f->proto = IPPROTO_TCP;
	} else if (!fx_parse_u64(word, &n) && n <= 255) {
		f->proto = n;
	} else {
		f->has_proto = false;
		fx_diag(g->diags, FX_E_FLOW, v->pos,
			"'%s' is no protocol: udp, tcp or a number up to 255",
			word);
	}
}

static const struct fx_key tuple_keys[] = {
	{ "src", take_src }, { "dst", take_dst },
	{ "sport", fx_take_number, FX_F_SPORT },
	{ "dport", fx_take_number, FX_F_DPORT },
	{ "proto", take_proto },
	{ }
};

static void take_tuple(struct fx_graph *g, const struct fx_key *k,
		       struct fx_node *v, void *obj)
{
	(void)k;
	fx_take_map(g, v, "a 5-tuple", tuple_keys, obj);
	if (v->kind == FX_NODE_MAP && !v->n)
		fx_diag(g->diags, FX_E_FLOW, v->pos, "a 5-tuple of nothing");
}

static const struct fx_key roce_keys[] = {
	{ "qp", fx_take_number, FX_F_QP },
	{ }
};

/* { qp: N }, or `tag`: the queue pair is known when it is there. */
static void take_roce(struct fx_graph *g, const struct fx_key *k,
		      struct fx_node *v, void *obj)
{
	struct fx_flow_decl *f = &((struct fx_class *)obj)->flow;

	(void)k;
	f->roce = true;
	f->roce_pos = v->pos;
	f->tagged = v->kind == FX_NODE_SCALAR && !strcmp(v->text, "tag");
	if (f->tagged)
		return;
	if (v->kind == FX_NODE_MAP && v->n)
		fx_take_map(g, v, "a queue pair", roce_keys, obj);
	else
		fx_diag_help(fx_diag(g->diags, FX_E_FLOW, v->pos,
				     "'rocev2' says which queue pair"),
			     "rocev2: { qp: 17 }, or rocev2: tag and then `fabricctl tag GRAPH EDGE --qp 17`");
}

static const struct fx_key flow_keys[] = {
	{ "udp", fx_take_number, FX_F_UDP },
	{ "tuple", take_tuple },
	{ "vlan", fx_take_number, FX_F_VLAN },
	{ "dscp", fx_take_number, FX_F_DSCP },
	{ "rocev2", take_roce },
	{ }
};

/* What the keys do not say alone. */
static void check_flow(struct fx_graph *g, const struct fx_class *c)
{
	const struct fx_flow_decl *f = &c->flow;
	const struct fx_field *udp = &c->field[FX_F_UDP];
	const struct fx_field *port = &c->field[FX_F_DPORT];
	const char *by = f->roce ? "rocev2" : "udp";
	struct fx_diag *d;

	if (f->roce && udp->expr)
		fx_diag_note(fx_diag(g->diags, FX_E_FLOW, udp->pos,
				     "'rocev2' says the protocol and the destination port, and 'udp' says them too"),
			     f->roce_pos, "here; leave 'udp' out");
	if ((f->roce || udp->expr) && (port->expr || f->has_proto)) {
		d = fx_diag(g->diags, FX_E_FLOW, f->roce ? f->roce_pos : udp->pos,
			    "'%s' says the protocol and the destination port, and the tuple says %s too",
			    by, port->expr ? "the port" : "the protocol");
		fx_diag_note(d, port->expr ? port->pos : f->proto_pos,
			     "here; leave one of them out");
	}
	if (!port->expr)
		port = &c->field[FX_F_SPORT];
	if (port->expr && !udp->expr && !f->roce &&
	    !(f->has_proto && (f->proto == IPPROTO_UDP || f->proto == IPPROTO_TCP)))
		fx_diag_help(fx_diag(g->diags, FX_E_FLOW, port->pos,
				     "a port is one of udp or tcp, and this tuple does not say which"),
			     "such as proto: udp");
	if (f->src_family && f->dst_family && f->src_family != f->dst_family)
		fx_diag_note(fx_diag(g->diags, FX_E_FLOW, f->dst_pos,
				     "no packet goes from an IPv%u to an IPv%u address",
				     f->src_family, f->dst_family),
			     f->src_pos, "the source is here");
}

/* fx_take_flow() - the flow of the class @obj */
void fx_take_flow(struct fx_graph *g, const struct fx_key *k,
		  struct fx_node *v, void *obj)
{
	u32 errors = fx_diags_count(g->diags);
	struct fx_class *c = obj;

	(void)k;
	c->flow.given = true;
	c->flow.pos = v->pos;
	fx_take_map(g, v, "a flow", flow_keys, obj);
	if (fx_diags_count(g->diags) != errors)
		return;
	if (!v->n)
		fx_diag_help(fx_diag(g->diags, FX_E_FLOW, v->pos,
				     "this flow finds nothing"),
			     "such as flow: { udp: 4791 }");
	check_flow(g, c);
}

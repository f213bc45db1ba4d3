// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What a policy's object holds: the variables of type struct fabric_ext_ops
 * in the struct_ops sections (by its BTF), which ops they set (by the
 * relocations of the section), which graph they name (by its bytes), and the
 * licence.
 */
#include <bpf/btf.h>
#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>

#include "../diag.h"
#include "../graph/codes.h"
#include "../names.h"
#include "../util.h"
#include "kernel.h"

#define OPS_TYPE	"fabric_ext_ops"

static const char *const ops_sections[] = { ".struct_ops", ".struct_ops.link" };

struct object {
	const char *source;
	struct fx_diags *diags;
	struct fx_kernel_policy *policy;
	Elf *elf;
	struct btf *btf;
	u32 found;
};

static const struct fx_pos whole;

/* A type's name without the ___flavour that CO-RE ignores. */
static bool type_is(const struct btf *btf, const struct btf_type *t,
		    const char *want)
{
	const char *name = btf__name_by_offset(btf, t->name_off);
	const char *flavour = name ? strstr(name, "___") : NULL;
	size_t len = !name ? 0 : flavour ? (size_t)(flavour - name) : strlen(name);

	return len == strlen(want) && !strncmp(name, want, len);
}

static Elf_Scn *section(Elf *elf, const char *name, GElf_Shdr *shdr)
{
	Elf_Scn *scn = NULL;
	size_t strings;

	if (elf_getshdrstrndx(elf, &strings))
		return NULL;
	while ((scn = elf_nextscn(elf, scn))) {
		const char *have;

		if (!gelf_getshdr(scn, shdr))
			continue;
		have = elf_strptr(elf, strings, shdr->sh_name);
		if (have && !strcmp(have, name))
			return scn;
	}
	return NULL;
}

/*
 * Where a variable lies in its section. clang leaves that out of the BTF, for
 * a linker to fill in, and says it in the symbol table.
 */
static bool symbol_offset(Elf *elf, const char *sec, const char *name, u32 *at)
{
	GElf_Shdr shdr, ignored;
	Elf_Scn *scn = section(elf, ".symtab", &shdr);
	Elf_Scn *home = section(elf, sec, &ignored);
	Elf_Data *data = scn ? elf_getdata(scn, NULL) : NULL;
	GElf_Sym sym;

	if (!data || !home || !shdr.sh_entsize)
		return false;
	for (u32 i = 0; i < shdr.sh_size / shdr.sh_entsize; i++) {
		const char *have;

		if (!gelf_getsym(data, i, &sym) ||
		    sym.st_shndx != elf_ndxscn(home))
			continue;
		have = elf_strptr(elf, shdr.sh_link, sym.st_name);
		if (!have || strcmp(have, name))
			continue;
		*at = sym.st_value;
		return true;
	}
	return false;
}

static void set_op(struct object *o, const char *member, const char *prog)
{
	int op = fx_value(&fx_policy_ops, member);
	const char *near;
	struct fx_diag *d;

	if (op >= 0) {
		o->policy->ops |= 1ULL << op;
		if (prog && *prog && !o->policy->prog[op])
			o->policy->prog[op] = fx_strdup(prog);
		return;
	}
	d = fx_diag(o->diags, FX_E_POLICY_OP, whole,
		    "the policy sets the op '%s', which this fabricctl does not know",
		    member);
	near = fx_nearest_name(member, fx_policy_ops.name, fx_policy_ops.n);
	if (near)
		fx_diag_help(d, "did you mean '%s'?", near);
}

static const char *symbol_name(Elf *elf, Elf_Scn *table, size_t strings, size_t i)
{
	Elf_Data *data = elf_getdata(table, NULL);
	GElf_Sym sym;

	return data && gelf_getsym(data, i, &sym) ? elf_strptr(elf, strings, sym.st_name) : NULL;
}

/* Each function that the variable points to is a relocation at its member. */
static void find_ops(struct object *o, const char *sec, u32 at,
		     const struct btf_type *t)
{
	char *name = fx_asprintf(".rel%s", sec);
	const struct btf_member *m = btf_members(t);
	GElf_Shdr shdr;
	Elf_Scn *scn = section(o->elf, name, &shdr);
	Elf_Data *data = scn ? elf_getdata(scn, NULL) : NULL;
	Elf_Scn *table = scn ? elf_getscn(o->elf, shdr.sh_link) : NULL;
	GElf_Shdr symbols;
	GElf_Rel rel;

	free(name);
	if (!table || !gelf_getshdr(table, &symbols))
		return;
	if (!data || !shdr.sh_entsize)
		return;
	for (u32 i = 0; i < shdr.sh_size / shdr.sh_entsize; i++) {
		if (!gelf_getrel(data, i, &rel) || rel.r_offset < at ||
		    rel.r_offset >= (u64)at + t->size)
			continue;
		for (u32 j = 0; j < btf_vlen(t); j++)
			if (btf_member_bit_offset(t, j) ==
			    (rel.r_offset - at) * 8)
				set_op(o, btf__name_by_offset(o->btf, m[j].name_off),
				       symbol_name(o->elf, table, symbols.sh_link,
						   GELF_R_SYM(rel.r_info)));
	}
}

/* The bytes of `char graph[]` in the variable. */
static void find_graph(struct object *o, const char *sec, u32 at,
		       const struct btf_type *t)
{
	const struct btf_member *m = btf_members(t);
	GElf_Shdr shdr;
	Elf_Scn *scn = section(o->elf, sec, &shdr);
	Elf_Data *data = scn ? elf_getdata(scn, NULL) : NULL;
	struct fx_diag *d;

	o->policy->graph = NULL;
	for (u32 j = 0; j < btf_vlen(t); j++) {
		const char *name = btf__name_by_offset(o->btf, m[j].name_off);
		const struct btf_type *a = btf__type_by_id(o->btf, m[j].type);
		u64 start = (u64)at + btf_member_bit_offset(t, j) / 8;
		u32 size;

		if (!name || strcmp(name, "graph") || !a || !btf_is_array(a))
			continue;
		size = btf_array(a)->nelems;
		if (data && data->d_buf && start + size <= data->d_size)
			o->policy->graph =
				fx_strndup((char *)data->d_buf + start, size);
	}
	if (o->policy->graph)
		return;
	d = fx_diag(o->diags, FX_E_POLICY_NONE, whole,
		    "struct fabric_ext_ops of this policy has no field 'graph' to fill in");
	fx_diag_help(d, "include <fabric_ext/policy.bpf.h> of this version");
}

static void take_variable(struct object *o, const char *sec,
			  const struct btf_var_secinfo *vi)
{
	const struct btf_type *var = btf__type_by_id(o->btf, vi->type);
	const struct btf_type *t;
	const char *name;
	u32 at;
	int id;

	if (!var || !btf_is_var(var))
		return;
	id = btf__resolve_type(o->btf, var->type);
	t = id > 0 ? btf__type_by_id(o->btf, id) : NULL;
	name = btf__name_by_offset(o->btf, var->name_off);
	if (!t || !name || !btf_is_struct(t) || !type_is(o->btf, t, OPS_TYPE))
		return;
	if (o->found++) {
		fx_diag(o->diags, FX_E_POLICY_SEVERAL, whole,
			"the policy has several struct fabric_ext_ops, '%s' and '%s'; a bundle has one",
			o->policy->ops_map, name);
		return;
	}
	if (!symbol_offset(o->elf, sec, name, &at)) {
		fx_diag(o->diags, FX_E_POLICY_NONE, whole,
			"'%s' is not in the object's symbol table", name);
		return;
	}
	o->policy->ops_map = fx_strdup(name);
	find_ops(o, sec, at, t);
	find_graph(o, sec, at, t);
}

static void walk(struct object *o)
{
	for (u32 id = 1; id < btf__type_cnt(o->btf); id++) {
		const struct btf_type *t = btf__type_by_id(o->btf, id);
		const char *name = t ? btf__name_by_offset(o->btf, t->name_off) : NULL;
		const struct btf_var_secinfo *vi;

		/* the mark that FX_PORTABLE() sets */
		if (name && btf_is_decl_tag(t) && !strcmp(name, "fx_portable"))
			o->policy->portable = true;
		if (!t || !btf_is_datasec(t))
			continue;
		for (u32 i = 0; i < ARRAY_SIZE(ops_sections); i++) {
			if (!name || strcmp(name, ops_sections[i]))
				continue;
			vi = btf_var_secinfos(t);
			for (u32 j = 0; j < btf_vlen(t); j++)
				take_variable(o, name, &vi[j]);
		}
	}
	if (!o->found)
		fx_diag_help(fx_diag(o->diags, FX_E_POLICY_NONE, whole,
				     "the policy has no struct fabric_ext_ops"),
			     "SEC(\".struct_ops.link\") struct fabric_ext_ops my_policy = { ... };");
}

/* The kernel loads a struct_ops program under these alone; its own list. */
static const char *const licences[] = {
	"GPL", "GPL v2", "GPL and additional rights", "Dual BSD/GPL",
	"Dual MIT/GPL", "Dual MPL/GPL",
};

static void check_licence(struct object *o)
{
	GElf_Shdr shdr;
	Elf_Scn *scn = section(o->elf, "license", &shdr);
	Elf_Data *data = scn ? elf_getdata(scn, NULL) : NULL;
	char *have = NULL;
	struct fx_diag *d;

	if (data && data->d_buf)
		have = fx_strndup(data->d_buf, data->d_size);
	for (u32 i = 0; have && i < ARRAY_SIZE(licences); i++)
		if (!strcmp(have, licences[i]))
			goto out;
	d = have ? fx_diag(o->diags, FX_E_POLICY_LICENCE, whole,
			   "the policy's licence is '%s', and the kernel loads policies under a GPL-compatible one only",
			   have) :
		   fx_diag(o->diags, FX_E_POLICY_LICENCE, whole,
			   "the policy states no licence, and the kernel loads policies under a GPL-compatible one only");
	fx_diag_help(d, "char LICENSE[] SEC(\"license\") = \"Dual BSD/GPL\";");
out:
	free(have);
}

/* BTF out of the section's bytes: the object is in memory, not in a file. */
static struct btf *read_btf(Elf *elf)
{
	GElf_Shdr shdr;
	Elf_Scn *scn = section(elf, ".BTF", &shdr);
	Elf_Data *data = scn ? elf_getdata(scn, NULL) : NULL;

	return data ? btf__new(data->d_buf, data->d_size) : NULL;
}

enum fx_rc fx_inspect_object(const char *source, struct fx_kernel_policy *p)
{
	struct object o = { .source = source, .policy = p };
	enum fx_rc rc = FX_RC_SYSTEM;

	elf_version(EV_CURRENT);
	o.diags = fx_diags_new(source, NULL, 0);
	o.elf = elf_memory(p->object, p->object_size);
	o.btf = o.elf ? read_btf(o.elf) : NULL;
	if (!o.btf) {
		fx_err("the object that clang made of %s has no readable BTF; is this clang built for BPF?",
		       source);
		goto out;
	}
	walk(&o);
	check_licence(&o);
	rc = fx_diags_print(o.diags) ? FX_RC_INPUT : FX_RC_OK;
out:
	btf__free(o.btf);
	elf_end(o.elf);
	fx_diags_free(o.diags);
	return rc;
}

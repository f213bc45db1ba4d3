// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The ELF file of a policy for a DPU: its one function, what the relocations
 * of it point to, its maps by their BTF, and what the policy says of itself.
 */
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dpu_object.h"
#include "map_class.h"

#define MAPS	".maps"

struct reading {
	struct fx_dpu_object *o;
	Elf *elf;
	size_t names;		/* section with the sections' names */
	size_t program;		/* section of the function */
	size_t symtab;
	Elf_Data *symbols;
	u32 n_symbol;
	size_t symbol_names;
	u32 map_at[FX_DPU_MAX_MAPS];	/* where o->map[] stand in their section */
	bool *related;		/* instructions that have a relocation */
	bool wrong_map;		/* of one of them a fault is noted */
};

const char *fx_dpu_rule_help(enum fx_dpu_rule rule)
{
	static const char *const help[FX_DPU_RULES] = {
		[FX_DPU_RULE_FORM] =
		"end it with FX_PORTABLE() of <fabric_ext/portable.bpf.h>, and put nothing else into the section '" FX_DPU_SECTION "'",
		[FX_DPU_RULE_LOOP] =
		"give it a constant bound and `#pragma unroll` before it; the kernel and network devices run loops",
		[FX_DPU_RULE_CALL] =
		"declare the function static __always_inline",
		[FX_DPU_RULE_ATOMIC] =
		"__sync_fetch_and_add() whose value is not used works; or count by fx_count() in a map of class counter",
		[FX_DPU_RULE_CONSTANT] =
		"put the values into the code: a macro, an enum, a switch in place of a table; or into a map that is published",
		[FX_DPU_RULE_VARIABLE] =
		"put it into a map: FX_MAP(local, ...) or FX_MAP(counter, ...)",
		[FX_DPU_RULE_STACK] =
		"index a map of class local instead, or use an array only by constants; 512 bytes of stack are there",
		[FX_DPU_RULE_HELPER] =
		"a DPU has fx_at(), fx_count() and fx_now(), that is, the helpers 1 and 5",
		[FX_DPU_RULE_MAP] =
		"a DPU has the arrays that FX_MAP() makes, of up to 16 MiB, with up to 32 KiB in an entry or in a whole snapshot",
		[FX_DPU_RULE_INSN] =
		"compile it by `fabricctl compile`, which asks clang for -mcpu=v2",
		[FX_DPU_RULE_SIZE] =
		"leave the large part to the kernel: compile with --device kernel",
		[FX_DPU_RULE_DIVIDE] =
		"divide by a constant, or shift",
		[FX_DPU_RULE_KERNEL] =
		"leave out what <bpf/bpf_core_read.h> has, and types of the kernel with preserve_access_index; a DPU has no such types",
	};

	return help[rule];
}

/* ---- ELF -------------------------------------------------------------- */

static const char *section_name(const struct reading *r, Elf_Scn *scn, GElf_Shdr *shdr)
{
	const char *name;

	if (!scn || !gelf_getshdr(scn, shdr))
		return "";
	name = elf_strptr(r->elf, r->names, shdr->sh_name);
	return name ? name : "";
}

/* A section that stands there once, or NULL. */
static Elf_Scn *find(const struct reading *r, const char *name)
{
	Elf_Scn *scn = NULL, *found = NULL;
	GElf_Shdr shdr;

	while ((scn = elf_nextscn(r->elf, scn))) {
		if (strcmp(section_name(r, scn, &shdr), name))
			continue;
		if (found)
			return NULL;
		found = scn;
	}
	return found;
}

static Elf_Data *data_of(Elf_Scn *scn)
{
	Elf_Data *data = scn ? elf_getdata(scn, NULL) : NULL;

	return data && data->d_buf ? data : NULL;
}

static bool is_bpf(Elf *elf)
{
	GElf_Ehdr ehdr;

	return elf_kind(elf) == ELF_K_ELF && gelf_getehdr(elf, &ehdr) &&
	       ehdr.e_ident[EI_CLASS] == ELFCLASS64 &&
	       ehdr.e_ident[EI_DATA] == ELFDATA2LSB &&
	       ehdr.e_type == ET_REL && ehdr.e_machine == EM_BPF;
}

static bool find_symbols(struct reading *r)
{
	Elf_Scn *scn = NULL, *symtab = NULL;
	GElf_Shdr shdr;

	/* by its type, as libbpf and librte_bpf find it; of two each may take another */
	while ((scn = elf_nextscn(r->elf, scn))) {
		if (!gelf_getshdr(scn, &shdr) || (shdr.sh_type == SHT_SYMTAB && symtab))
			return false;
		if (shdr.sh_type == SHT_SYMTAB)
			symtab = scn;
	}
	r->symbols = data_of(symtab);
	if (!r->symbols || !gelf_getshdr(symtab, &shdr) || shdr.sh_entsize != sizeof(Elf64_Sym))
		return false;
	r->symtab = elf_ndxscn(symtab);
	r->n_symbol = r->symbols->d_size / sizeof(Elf64_Sym);
	r->symbol_names = shdr.sh_link;
	return true;
}

static const char *symbol_name(const struct reading *r, const GElf_Sym *sym)
{
	const char *name = elf_strptr(r->elf, r->symbol_names, sym->st_name);

	return name ? name : "";
}

static void no_program(struct reading *r)
{
	fx_dpu_fault(r->o, FX_DPU_RULE_FORM, FX_DPU_NO_INSN,
		     "has no function '" FX_DPU_FUNCTION "' that is all of the section '" FX_DPU_SECTION "'");
}

/* The section is the function, and nothing else. */
static int take_program(struct reading *r)
{
	Elf_Scn *scn = find(r, FX_DPU_SECTION);
	Elf_Data *data = data_of(scn);
	u32 functions = 0;
	bool whole = false;
	GElf_Sym sym;

	if (!data || !data->d_size || data->d_size % sizeof(struct bpf_insn) ||
	    data->d_size > FX_DPU_MAX_OBJECT) {
		no_program(r);
		return 0;
	}
	for (u32 i = 0; i < r->n_symbol; i++) {
		if (!gelf_getsym(r->symbols, i, &sym) || sym.st_shndx != elf_ndxscn(scn) ||
		    GELF_ST_TYPE(sym.st_info) != STT_FUNC)
			continue;
		functions++;
		whole = !sym.st_value && sym.st_size == data->d_size &&
			!strcmp(symbol_name(r, &sym), FX_DPU_FUNCTION);
	}
	if (functions != 1 || !whole) {
		no_program(r);
		return 0;
	}
	r->program = elf_ndxscn(scn);
	r->o->n_insn = data->d_size / sizeof(struct bpf_insn);
	r->related = calloc(r->o->n_insn, sizeof(*r->related));
	r->o->insn = malloc(data->d_size);
	if (!r->o->insn || !r->related)
		return -ENOMEM;
	memcpy(r->o->insn, data->d_buf, data->d_size);
	return 0;
}

/* The number of a map, or n_map. */
static u32 map_of(const struct fx_dpu_object *o, const char *name)
{
	u32 i = 0;

	while (i < o->n_map && strcmp(o->map[i].name, name))
		i++;
	return i;
}

/*
 * A map of that name stands there: libbpf, and so the kernel's verifier, goes
 * by where the symbol points to, and librte_bpf by what it is called.
 */
static bool is_map(const struct reading *r, const char *name, const GElf_Sym *sym)
{
	Elf_Scn *maps = find(r, MAPS);
	u32 i = map_of(r->o, name);

	return maps && elf_ndxscn(maps) == sym->st_shndx && i < r->o->n_map &&
	       r->map_at[i] == sym->st_value;
}

static void no_relocation(struct reading *r)
{
	fx_dpu_fault(r->o, FX_DPU_RULE_FORM, FX_DPU_NO_INSN, "has relocations that cannot be");
}

/* What the program's relocation points to, unless that is a map. */
static void check_relocation(struct reading *r, const GElf_Rel *rel)
{
	u32 at = rel->r_offset / sizeof(struct bpf_insn);
	GElf_Shdr shdr = { 0 };
	const char *section, *name;
	GElf_Sym sym;

	if (rel->r_offset % sizeof(struct bpf_insn) ||
	    rel->r_offset / sizeof(struct bpf_insn) >= r->o->n_insn || r->related[at] ||
	    !gelf_getsym(r->symbols, GELF_R_SYM(rel->r_info), &sym)) {
		no_relocation(r);
		return;
	}
	r->related[at] = true;
	name = symbol_name(r, &sym);
	section = section_name(r, elf_getscn(r->elf, sym.st_shndx), &shdr);
	if (sym.st_shndx == SHN_UNDEF)
		fx_dpu_fault(r->o, FX_DPU_RULE_HELPER, at, "uses '%s' of the kernel", name);
	else if (shdr.sh_flags & SHF_EXECINSTR)
		fx_dpu_fault(r->o, FX_DPU_RULE_CALL, at, "calls a function that is not inlined");
	else if (shdr.sh_flags & SHF_WRITE && strcmp(section, MAPS))
		fx_dpu_fault(r->o, FX_DPU_RULE_VARIABLE, at, "has a variable outside of functions (%s)",
			     *name ? name : section);
	else if (strcmp(section, MAPS))
		fx_dpu_fault(r->o, FX_DPU_RULE_CONSTANT, at, "reads constants from memory (%s)",
			     section);
	else if (r->wrong_map && !strcmp(section, MAPS))
		return;		/* which one, and why, has been said */
	else if (!is_map(r, name, &sym) ||
		 r->o->insn[at].code != (BPF_LD | BPF_IMM | BPF_DW))
		fx_dpu_fault(r->o, FX_DPU_RULE_MAP, at, "uses '%s', which is no map", name);
}

static void check_relocations(struct reading *r)
{
	Elf_Scn *scn = NULL, *found = NULL;
	Elf_Data *data;
	GElf_Shdr shdr;
	GElf_Rel rel;

	/* by what they are of, whatever they are called */
	while ((scn = elf_nextscn(r->elf, scn))) {
		if (!gelf_getshdr(scn, &shdr) || shdr.sh_info != r->program ||
		    (shdr.sh_type != SHT_REL && shdr.sh_type != SHT_RELA))
			continue;
		if (found || shdr.sh_type != SHT_REL || shdr.sh_link != r->symtab ||
		    shdr.sh_entsize != sizeof(Elf64_Rel)) {
			no_relocation(r);
			return;
		}
		found = scn;
	}
	if (!found)
		return;
	data = data_of(found);
	if (!data || data->d_size % sizeof(Elf64_Rel)) {
		no_relocation(r);
		return;
	}
	for (u32 i = 0; i < data->d_size / sizeof(Elf64_Rel); i++)
		if (gelf_getrel(data, i, &rel))
			check_relocation(r, &rel);
}

/* Every load of 64 bits either is a plain number or has a relocation. */
static void check_loads(struct reading *r)
{
	for (u32 at = 0; at < r->o->n_insn; at++)
		if (r->o->insn[at].code == (BPF_LD | BPF_IMM | BPF_DW) &&
		    r->o->insn[at].src_reg)
			fx_dpu_fault(r->o, FX_DPU_RULE_FORM, at,
				     "has a reference that is none by name");
}

/* ---- CO-RE ------------------------------------------------------------ */

/* In .BTF.ext: the first of the places that libbpf rewrites, or FX_DPU_NO_INSN. */
static u32 first_rewritten(const struct reading *r, const char *ext, size_t size, u32 at, u32 len)
{
	/* the length of a record, a section's name, how many records are its, the first's place */
	u32 head[4];

	if (len < sizeof(head) || at > size || size - at < sizeof(head))
		return FX_DPU_NO_INSN;
	memcpy(head, ext + at, sizeof(head));
	head[3] /= sizeof(struct bpf_insn);
	return head[3] < r->o->n_insn ? head[3] : FX_DPU_NO_INSN;
}

/*
 * librte_bpf runs the file, and the kernel's verifier sees what libbpf makes of
 * it. It rewrites whatever .BTF.ext says, so that has to say nothing.
 */
static void check_rewritten(struct reading *r)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;

	while ((scn = elf_nextscn(r->elf, scn))) {
		struct {
			u16 magic;
			u8 version, flags;
			/* in bytes; places count from the end of these */
			u32 size, func_at, func_len, line_at, line_len, core_at, core_len;
		} ext;
		Elf_Data *data;

		if (strcmp(section_name(r, scn, &shdr), ".BTF.ext"))
			continue;
		data = data_of(scn);
		if (!data || data->d_size < sizeof(ext)) {
			no_relocation(r);
			continue;
		}
		memcpy(&ext, data->d_buf, sizeof(ext));
		if (ext.magic != BTF_MAGIC || ext.size != sizeof(ext))
			no_relocation(r);
		else if (ext.core_len)
			fx_dpu_fault(r->o, FX_DPU_RULE_KERNEL,
				     first_rewritten(r, data->d_buf, data->d_size,
						     sizeof(ext) + ext.core_at, ext.core_len),
				     "asks for types of the kernel (CO-RE)");
	}
}

static void take_about(struct reading *r)
{
	struct fx_nic_policy *about = &r->o->about;
	Elf_Data *data = data_of(find(r, FX_DPU_ABOUT));

	if (data && data->d_size == sizeof(*about)) {
		memcpy(about, data->d_buf, sizeof(*about));
		if (about->version == FX_NIC_VERSION && about->malformed <= 1 &&
		    *about->name && memchr(about->name, 0, sizeof(about->name)))
			return;
	}
	memset(about, 0, sizeof(*about));
	fx_dpu_fault(r->o, FX_DPU_RULE_FORM, FX_DPU_NO_INSN,
		     "does not say what it is (section '" FX_DPU_ABOUT "')");
}

/* ---- maps ------------------------------------------------------------- */

/* Bytes of an entry: of a snapshot, whose only value is an epoch and its table, one of those. */
static u64 entry_size(const struct btf *btf, const struct bpf_map *map, const char *class)
{
	const struct btf_type *t = btf__type_by_id(btf, bpf_map__btf_value_type_id(map));
	s64 size;

	if (strcmp(class, "snapshot") || !t || !btf_is_struct(t) || btf_vlen(t) != 2)
		return bpf_map__value_size(map);
	t = btf__type_by_id(btf, btf_members(t)[1].type);
	size = t && btf_is_array(t) ? btf__resolve_size(btf, btf_array(t)->type) : 0;
	return size > 0 ? size : bpf_map__value_size(map);
}

/* What is too large, and what would not be. */
static const char *too_large(const struct btf *btf, const struct bpf_map *map, const char *class)
{
	static _Thread_local char text[80];
	const u64 entry = entry_size(btf, map, class);
	const u64 value = bpf_map__value_size(map);
	u64 most = FX_DPU_MAX_MAP / ((value + 7) & ~7ULL);

	if (entry > FX_DPU_MAX_VALUE)
		return "has entries of more than 32 KiB";
	if (entry < value)
		most = (FX_DPU_MAX_VALUE - sizeof(u64)) / entry;
	snprintf(text, sizeof(text), "is too large: at most %llu entries of %llu bytes",
		 (unsigned long long)most, (unsigned long long)entry);
	return text;
}

static const char *map_wrong(const struct btf *btf, const struct bpf_map *map, const char *class)
{
	const u64 value = bpf_map__value_size(map);

	if (bpf_map__type(map) != BPF_MAP_TYPE_ARRAY &&
	    bpf_map__type(map) != BPF_MAP_TYPE_PERCPU_ARRAY)
		return "is no array";
	if (bpf_map__key_size(map) != sizeof(u32) || !value || !bpf_map__max_entries(map))
		return "is no array with values";
	if (!class || strlen(class) >= FX_DPU_CLASS_LEN || strlen(bpf_map__name(map)) >= FX_NAME_LEN)
		return "has no consistency class";
	if (value > FX_DPU_MAX_VALUE || ((value + 7) & ~7ULL) * bpf_map__max_entries(map) > FX_DPU_MAX_MAP)
		return too_large(btf, map, class);
	return NULL;
}

/*
 * Where libbpf found a map, which it does not tell: as the BTF has it that it
 * made of the file's. False when the name is there twice, or not at all.
 */
static bool place_of(const struct btf *btf, const char *name, u32 *at)
{
	int id = btf__find_by_name_kind(btf, MAPS, BTF_KIND_DATASEC);
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, id) : NULL;
	const struct btf_var_secinfo *v = t ? btf_var_secinfos(t) : NULL;
	u32 found = 0;

	for (u32 i = 0; t && i < btf_vlen(t); i++) {
		const struct btf_type *var = btf__type_by_id(btf, v[i].type);

		if (!var || strcmp(btf__name_by_offset(btf, var->name_off), name))
			continue;
		*at = v[i].offset;
		found++;
	}
	return found == 1;
}

static void take_map(struct reading *r, const struct btf *btf, const struct bpf_map *map)
{
	struct fx_dpu_object *o = r->o;
	const char *name = bpf_map__name(map), *class = fx_map_class_of(btf, name);
	const char *wrong = map_wrong(btf, map, class);
	struct fx_dpu_map *m;
	u32 at = 0;

	if (!wrong && (!place_of(btf, name, &at) || map_of(o, name) < o->n_map))
		wrong = "is not there once";
	if (wrong) {
		r->wrong_map = true;
		fx_dpu_fault(o, FX_DPU_RULE_MAP, FX_DPU_NO_INSN, "has a map '%.48s' that %s",
			     name, wrong);
		return;
	}
	if (o->n_map == FX_DPU_MAX_MAPS) {
		fx_dpu_fault(o, FX_DPU_RULE_SIZE, FX_DPU_NO_INSN, "has more than %d maps",
			     FX_DPU_MAX_MAPS);
		return;
	}
	r->map_at[o->n_map] = at;
	m = &o->map[o->n_map++];
	strcpy(m->name, name);
	strcpy(m->cls, class);
	m->type = bpf_map__type(map);
	m->key_size = bpf_map__key_size(map);
	m->value_size = bpf_map__value_size(map);
	m->entries = bpf_map__max_entries(map);
}

static void take_maps(struct reading *r, const void *bytes, size_t size)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "policy");
	struct bpf_object *obj = bpf_object__open_mem(bytes, size, &opts);
	struct bpf_map *map;

	if (!obj) {
		fx_dpu_fault(r->o, FX_DPU_RULE_FORM, FX_DPU_NO_INSN, "is nothing that libbpf reads");
		return;
	}
	/* .rodata and .data have rules of their own, by who uses them */
	bpf_object__for_each_map(map, obj)
		if (!bpf_map__is_internal(map))
			take_map(r, bpf_object__btf(obj), map);
	bpf_object__close(obj);
}

int fx_dpu_object_read(const void *bytes, size_t size, struct fx_dpu_object *o)
{
	struct reading r = { .o = o };
	int err = 0;

	memset(o, 0, sizeof(*o));
	elf_version(EV_CURRENT);
	if (size && size <= FX_DPU_MAX_OBJECT)
		r.elf = elf_memory((char *)bytes, size);
	if (!r.elf || !is_bpf(r.elf) || elf_getshdrstrndx(r.elf, &r.names) || !find_symbols(&r)) {
		fx_dpu_fault(o, FX_DPU_RULE_FORM, FX_DPU_NO_INSN, "is no object for BPF");
		goto out;
	}
	err = take_program(&r);
	if (err || !o->n_insn)
		goto out;
	take_maps(&r, bytes, size);
	check_loads(&r);
	check_relocations(&r);
	check_rewritten(&r);
	fx_dpu_check_insns(o);
	take_about(&r);
out:
	free(r.related);
	elf_end(r.elf);
	if (err)
		fx_dpu_object_free(o);
	return err;
}

void fx_dpu_object_free(struct fx_dpu_object *o)
{
	free(o->insn);
	memset(o, 0, sizeof(*o));
}

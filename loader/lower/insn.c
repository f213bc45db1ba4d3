// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * libbpf reads the maps; the code is read out of the ELF file, because libbpf
 * tells neither what a relocation is of nor which line an instruction has
 * before a program is loaded, which is not what a foreign device is for.
 */
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>

#include "../bpflog.h"
#include "../util.h"
#include "insn.h"

#define BTF_EXT_MAGIC	0xeb9f
#define LINE_OF(x)	((x) >> 10)
#define COL_OF(x)	((x) & 0x3ff)

/* .BTF.ext, as Documentation/bpf/btf.rst of the kernel has it. */
struct ext_header {
	u16 magic;
	u8 version, flags;
	u32 hdr_len;
	u32 func_off, func_len;
	u32 line_off, line_len;
};

struct ext_section {
	u32 name;
	u32 n;
};

struct ext_line {
	u32 insn_off;		/* bytes from the section's beginning */
	u32 file, line;		/* strings of the BTF */
	u32 line_col;
};

struct section {
	const char *name;
	const char *bytes;
	u64 size;
	u32 index;
};

static const char *section_name(Elf *elf, const GElf_Shdr *shdr)
{
	size_t strings;

	if (elf_getshdrstrndx(elf, &strings))
		return NULL;
	return elf_strptr(elf, strings, shdr->sh_name);
}

/* The section of a name or, with NULL, of an index. */
static bool find_section(Elf *elf, const char *want, u32 index, struct section *out)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;
	Elf_Data *data;
	const char *name;

	while ((scn = elf_nextscn(elf, scn))) {
		if (!gelf_getshdr(scn, &shdr))
			continue;
		name = section_name(elf, &shdr);
		if (!name || (want ? strcmp(name, want) : elf_ndxscn(scn) != index))
			continue;
		data = elf_getdata(scn, NULL);
		out->name = name;
		out->bytes = data ? data->d_buf : NULL;
		out->size = out->bytes ? data->d_size : 0;
		out->index = elf_ndxscn(scn);
		return true;
	}
	return false;
}

/* ---- maps ------------------------------------------------------------- */

static const char *read_maps(struct fx_bytecode *c)
{
	struct bpf_map *map;
	u32 n = 0;

	bpf_object__for_each_map(map, c->obj)
		n++;
	if (n > FX_CODE_MAX_MAPS)
		return "has more than 256 maps";
	c->map = fx_calloc(n, sizeof(*c->map));
	bpf_object__for_each_map(map, c->obj)
		c->map[c->n_map++] = (struct fx_code_map){
			.name = bpf_map__name(map),
			.type = bpf_map__type(map),
			.key_size = bpf_map__key_size(map),
			.value_size = bpf_map__value_size(map),
			.max_entries = bpf_map__max_entries(map),
		};
	return NULL;
}

static s32 map_named(const struct fx_bytecode *c, const char *name)
{
	for (u32 i = 0; name && i < c->n_map; i++)
		if (!strcmp(c->map[i].name, name))
			return i;
	return FX_REF_UNKNOWN;
}

/* ---- programs --------------------------------------------------------- */

static const char *add_prog(struct fx_bytecode *c, const struct section *s,
			    const GElf_Sym *sym, const char *name)
{
	struct fx_code_prog *p;

	if (!sym->st_size || sym->st_size % sizeof(struct bpf_insn) ||
	    sym->st_value % sizeof(struct bpf_insn) || sym->st_value > s->size ||
	    sym->st_size > s->size - sym->st_value)
		return "has a function beyond its section";
	if (sym->st_size / sizeof(struct bpf_insn) > FX_CODE_MAX_INSNS)
		return "has a function of more than 16384 instructions";
	if (c->n_prog == FX_CODE_MAX_PROGS)
		return "has more than 256 functions";
	p = &c->prog[c->n_prog++];
	p->name = name;
	p->section = s->name;
	p->n = sym->st_size / sizeof(struct bpf_insn);
	p->insn = fx_calloc(p->n, sizeof(*p->insn));
	memcpy(p->insn, s->bytes + sym->st_value, sym->st_size);
	p->ref = fx_calloc(p->n, sizeof(*p->ref));
	p->line = fx_calloc(p->n, sizeof(*p->line));
	p->callee = fx_calloc(p->n, sizeof(*p->callee));
	p->outside = fx_calloc(p->n, sizeof(*p->outside));
	for (u32 i = 0; i < p->n; i++) {
		p->ref[i] = FX_REF_NONE;
		p->callee[i] = -1;
	}
	/* the second half of a load is no instruction of its own */
	for (u32 i = 0; i < p->n; i += fx_insn_len(&p->insn[i]))
		if (i + fx_insn_len(&p->insn[i]) > p->n)
			return "ends within an instruction";
	return NULL;
}

/* Where each function begins, to find it by section and offset. */
struct start {
	u32 section;
	u64 at;
};

static const char *read_progs(struct fx_bytecode *c, struct start *start)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr, home;
	const char *wrong;
	GElf_Sym sym;

	while ((scn = elf_nextscn(c->elf, scn)))
		if (gelf_getshdr(scn, &shdr) && shdr.sh_type == SHT_SYMTAB)
			break;
	if (!scn || !shdr.sh_entsize)
		return "has no symbols";
	for (u64 i = 0; i < shdr.sh_size / shdr.sh_entsize; i++) {
		Elf_Data *data = elf_getdata(scn, NULL);
		struct section s;
		const char *name;

		if (!data || !gelf_getsym(data, i, &sym))
			return "has symbols that cannot be read";
		if (GELF_ST_TYPE(sym.st_info) != STT_FUNC)
			continue;
		name = elf_strptr(c->elf, shdr.sh_link, sym.st_name);
		if (!name || !find_section(c->elf, NULL, sym.st_shndx, &s) ||
		    !gelf_getshdr(elf_getscn(c->elf, s.index), &home) ||
		    !(home.sh_flags & SHF_EXECINSTR))
			return "has a function outside of its sections";
		if (c->n_prog < FX_CODE_MAX_PROGS)
			start[c->n_prog] = (struct start){ s.index, sym.st_value };
		wrong = add_prog(c, &s, &sym, name);
		if (wrong)
			return wrong;
	}
	return c->n_prog ? NULL : "has no programs";
}

/* ---- relocations ------------------------------------------------------ */

static s32 ref_of(struct fx_bytecode *c, const GElf_Sym *sym, const char *name)
{
	struct section s;

	if (GELF_ST_TYPE(sym->st_info) == STT_FUNC)
		return FX_REF_FUNCTION;
	if (!find_section(c->elf, NULL, sym->st_shndx, &s))
		return FX_REF_UNKNOWN;
	if (!strcmp(s.name, ".maps"))
		return map_named(c, name);
	if (!strncmp(s.name, ".rodata", 7) || !strncmp(s.name, ".data", 5) ||
	    !strncmp(s.name, ".bss", 4))
		return FX_REF_DATA;
	/* clang names static functions by their section */
	return !strcmp(s.name, ".text") ? FX_REF_FUNCTION : FX_REF_UNKNOWN;
}

static bool is_call(const struct bpf_insn *insn)
{
	return insn->code == (BPF_JMP | BPF_CALL);
}

/* The program that begins there, or -1. */
static s32 prog_at(const struct fx_bytecode *c, const struct start *start, u32 section,
		   s64 at)
{
	for (u32 i = 0; i < c->n_prog; i++)
		if (start[i].section == section && at >= 0 && start[i].at == (u64)at)
			return i;
	return -1;
}

/*
 * What the symbol is to the instruction. A function is named by where it begins:
 * behind the symbol by so many instructions (a call) or bytes (a callback).
 */
static void set_ref(struct fx_bytecode *c, const struct start *start, u32 section,
		    u64 at, const GElf_Sym *sym, const char *name)
{
	for (u32 i = 0; i < c->n_prog; i++) {
		struct fx_code_prog *p = &c->prog[i];
		u64 n = (at - start[i].at) / sizeof(struct bpf_insn);
		s64 to;

		if (start[i].section != section || at < start[i].at || n >= p->n)
			continue;
		p->ref[n] = ref_of(c, sym, name);
		to = is_call(&p->insn[n]) ? ((s64)p->insn[n].imm + 1) * (s64)sizeof(struct bpf_insn) :
		     p->insn[n].imm;
		if (p->ref[n] == FX_REF_FUNCTION)
			p->callee[n] = prog_at(c, start, sym->st_shndx, (s64)sym->st_value + to);
		else if (is_call(&p->insn[n]) && sym->st_shndx == SHN_UNDEF)
			p->outside[n] = name;
	}
}

/* Calls within a section need no relocation. */
static void set_near_calls(struct fx_bytecode *c, const struct start *start)
{
	for (u32 i = 0; i < c->n_prog; i++) {
		struct fx_code_prog *p = &c->prog[i];

		for (u32 n = 0; n < p->n; n += fx_insn_len(&p->insn[n])) {
			s64 to = (s64)n + 1 + p->insn[n].imm;

			if (is_call(&p->insn[n]) && p->insn[n].src_reg == BPF_PSEUDO_CALL &&
			    p->ref[n] == FX_REF_NONE)
				p->callee[n] = prog_at(c, start, start[i].section,
						       (s64)start[i].at +
						       to * (s64)sizeof(struct bpf_insn));
		}
	}
}

static const char *read_refs(struct fx_bytecode *c, const struct start *start)
{
	Elf_Scn *scn = NULL, *table;
	GElf_Shdr shdr, syms;
	GElf_Rel rel;
	GElf_Sym sym;

	while ((scn = elf_nextscn(c->elf, scn))) {
		Elf_Data *data, *names;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type != SHT_REL ||
		    !shdr.sh_entsize)
			continue;
		data = elf_getdata(scn, NULL);
		table = elf_getscn(c->elf, shdr.sh_link);
		names = table ? elf_getdata(table, NULL) : NULL;
		if (!data || !names || !gelf_getshdr(table, &syms))
			return "has relocations that cannot be read";
		for (u64 i = 0; i < shdr.sh_size / shdr.sh_entsize; i++) {
			if (!gelf_getrel(data, i, &rel) ||
			    !gelf_getsym(names, GELF_R_SYM(rel.r_info), &sym))
				return "has relocations that cannot be read";
			set_ref(c, start, shdr.sh_info, rel.r_offset, &sym,
				elf_strptr(c->elf, syms.sh_link, sym.st_name));
		}
	}
	return NULL;
}

/* ---- lines ------------------------------------------------------------ */

static void set_line(struct fx_bytecode *c, const struct start *start, u32 section,
		     const struct ext_line *l)
{
	for (u32 i = 0; i < c->n_prog; i++) {
		struct fx_code_prog *p = &c->prog[i];
		u64 at = (l->insn_off - start[i].at) / sizeof(struct bpf_insn);

		if (start[i].section != section || l->insn_off < start[i].at ||
		    at >= p->n)
			continue;
		p->line[at] = (struct fx_code_line){
			.file = btf__name_by_offset(c->btf, l->file),
			.line = LINE_OF(l->line_col), .col = COL_OF(l->line_col),
		};
	}
}

/* A record stands for all instructions up to the next one. */
static void spread_lines(struct fx_bytecode *c)
{
	for (u32 i = 0; i < c->n_prog; i++)
		for (u32 j = 1; j < c->prog[i].n; j++)
			if (!c->prog[i].line[j].line)
				c->prog[i].line[j] = c->prog[i].line[j - 1];
}

/* Lines are for messages: an object without them, or with bad ones, has none. */
static void read_lines(struct fx_bytecode *c, const struct start *start)
{
	struct section ext, btf, home;
	const char *p, *end;
	struct ext_header h;
	u32 size;

	if (!find_section(c->elf, ".BTF", 0, &btf) ||
	    !find_section(c->elf, ".BTF.ext", 0, &ext) || ext.size < sizeof(h))
		return;
	c->btf = btf__new(btf.bytes, btf.size);
	memcpy(&h, ext.bytes, sizeof(h));
	if (!c->btf || h.magic != BTF_EXT_MAGIC ||
	    (u64)h.hdr_len + h.line_off + h.line_len > ext.size ||
	    h.line_len < sizeof(size))
		return;
	p = ext.bytes + h.hdr_len + h.line_off;
	end = p + h.line_len;
	memcpy(&size, p, sizeof(size));
	p += sizeof(size);
	if (size < sizeof(struct ext_line) || size > 1024)
		return;
	while ((size_t)(end - p) >= sizeof(struct ext_section)) {
		struct ext_section s;
		const char *name;
		bool known;

		memcpy(&s, p, sizeof(s));
		p += sizeof(s);
		name = btf__name_by_offset(c->btf, s.name);
		known = name && find_section(c->elf, name, 0, &home);
		for (u32 i = 0; i < s.n && (size_t)(end - p) >= size; i++, p += size) {
			struct ext_line l;

			memcpy(&l, p, sizeof(l));
			if (known)
				set_line(c, start, home.index, &l);
		}
	}
	spread_lines(c);
}

const char *fx_bytecode_open(const void *object, size_t size, struct fx_bytecode *out)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "policy");
	struct start *start = fx_calloc(FX_CODE_MAX_PROGS, sizeof(*start));
	const char *wrong;

	memset(out, 0, sizeof(*out));
	out->prog = fx_calloc(FX_CODE_MAX_PROGS, sizeof(*out->prog));
	elf_version(EV_CURRENT);
	fx_bpflog_start(false);
	out->obj = bpf_object__open_mem(object, size, &opts);
	if (!out->obj) {
		wrong = "is no eBPF object that libbpf reads";
		goto out;
	}
	out->elf = elf_memory((char *)object, size);
	wrong = out->elf ? read_maps(out) : "is no ELF file";
	if (!wrong)
		wrong = read_progs(out, start);
	if (!wrong)
		wrong = read_refs(out, start);
	if (!wrong) {
		set_near_calls(out, start);
		read_lines(out, start);
	}
out:
	free(start);
	return wrong;
}

void fx_bytecode_close(struct fx_bytecode *c)
{
	for (u32 i = 0; i < c->n_prog; i++) {
		free(c->prog[i].insn);
		free(c->prog[i].ref);
		free(c->prog[i].line);
		free(c->prog[i].callee);
		free(c->prog[i].outside);
	}
	free(c->prog);
	free(c->map);
	btf__free(c->btf);
	elf_end(c->elf);
	bpf_object__close(c->obj);
	memset(c, 0, sizeof(*c));
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * .BTF.ext by hand: libbpf 1.5 has the lines and gives them to the kernel
 * alone. Every length in it is compared with what is there.
 */
#include <bpf/btf.h>
#include <gelf.h>
#include <libelf.h>
#include <linux/bpf.h>
#include <linux/btf.h>
#include <stdlib.h>
#include <string.h>

#include "../util.h"
#include "bpf_lines.h"

/* As the kernel's documentation of BTF has it. */
struct ext_header {
	__u16 magic;
	__u8 version;
	__u8 flags;
	__u32 hdr_len;
	__u32 func_info_off;
	__u32 func_info_len;
	__u32 line_info_off;
	__u32 line_info_len;
};

struct ext_section {
	__u32 name_off;
	__u32 n;
};

static Elf_Data *section_data(Elf *elf, const char *name)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;
	size_t strings;

	if (elf_getshdrstrndx(elf, &strings))
		return NULL;
	while ((scn = elf_nextscn(elf, scn))) {
		const char *have;

		if (!gelf_getshdr(scn, &shdr))
			continue;
		have = elf_strptr(elf, strings, shdr.sh_name);
		if (have && !strcmp(have, name))
			return elf_getdata(scn, NULL);
	}
	return NULL;
}

static bool same_file(const char *a, const char *b)
{
	const char *x = strrchr(a, '/'), *y = strrchr(b, '/');

	return !strcmp(x ? x + 1 : a, y ? y + 1 : b);
}

/* The last line of @source up to @insn among @n records. */
static struct fx_pos last_line(const struct btf *btf, const char *records, u32 n, u32 size,
			       u32 insn, const char *source)
{
	struct fx_pos pos = { 0 };

	for (u32 i = 0; i < n; i++) {
		struct bpf_line_info info;
		const char *file;

		memcpy(&info, records + (size_t)i * size, sizeof(info));
		if (info.insn_off / sizeof(struct bpf_insn) > insn)
			break;
		file = btf__name_by_offset(btf, info.file_name_off);
		if (!source)
			source = file;
		if (file && same_file(file, source))
			pos = (struct fx_pos){ BPF_LINE_INFO_LINE_NUM(info.line_col),
					       BPF_LINE_INFO_LINE_COL(info.line_col) };
	}
	return pos;
}

static struct fx_pos find_line(const struct btf *btf, const char *ext, size_t size,
			       const char *section, u32 insn, const char *source)
{
	struct ext_header h;
	const char *p, *end;
	struct fx_pos none = { 0 };
	__u32 record;

	if (size < sizeof(h))
		return none;
	memcpy(&h, ext, sizeof(h));
	if (h.magic != BTF_MAGIC || h.hdr_len > size || h.line_info_off > size - h.hdr_len ||
	    h.line_info_len > size - h.hdr_len - h.line_info_off ||
	    h.line_info_len < sizeof(record))
		return none;
	p = ext + h.hdr_len + h.line_info_off;
	end = p + h.line_info_len;
	memcpy(&record, p, sizeof(record));
	p += sizeof(record);
	if (record < sizeof(struct bpf_line_info))
		return none;
	while ((size_t)(end - p) >= sizeof(struct ext_section)) {
		struct ext_section s;
		const char *name;

		memcpy(&s, p, sizeof(s));
		p += sizeof(s);
		if (s.n > (size_t)(end - p) / record)
			return none;
		name = btf__name_by_offset(btf, s.name_off);
		if (name && !strcmp(name, section))
			return last_line(btf, p, s.n, record, insn, source);
		p += (size_t)s.n * record;
	}
	return none;
}

struct fx_pos fx_bpf_line(const void *object, size_t size, const char *section,
			  u32 insn, const char *source)
{
	Elf_Data *types, *ext;
	struct fx_pos pos = { 0 };
	struct btf *btf = NULL;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_memory((char *)object, size);
	if (!elf)
		return pos;
	types = section_data(elf, ".BTF");
	ext = section_data(elf, ".BTF.ext");
	if (types && types->d_buf && ext && ext->d_buf)
		btf = btf__new(types->d_buf, types->d_size);
	if (btf)
		pos = find_line(btf, ext->d_buf, ext->d_size, section, insn, source);
	btf__free(btf);
	elf_end(elf);
	return pos;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <elf.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../util.h"
#include "library.h"

/* the second half of a version: not the default one (glibc's elf.h has no name) */
#define VERSION_HIDDEN	0x8000

static const char *const directories[] = {
	"/usr/local/cuda/lib64", "/usr/lib/x86_64-linux-gnu", "/lib/x86_64-linux-gnu",
	"/usr/lib64", "/lib64", "/usr/lib", "/lib",
};

char *fx_library_find(const char *name)
{
	char *path;

	if (strchr(name, '/'))
		return access(name, R_OK) ? NULL : fx_strdup(name);
	for (u32 i = 0; i < ARRAY_SIZE(directories); i++) {
		path = fx_asprintf("%s/%s", directories[i], name);
		if (!access(path, R_OK))
			return path;
		free(path);
	}
	return NULL;
}

/* An address of the image as an offset in the file, or -1. */
static s64 file_offset(Elf *elf, u64 address)
{
	GElf_Phdr p;
	size_t n;

	if (elf_getphdrnum(elf, &n))
		return -1;
	for (size_t i = 0; i < n; i++)
		if (gelf_getphdr(elf, i, &p) && p.p_type == PT_LOAD && p.p_flags & PF_X &&
		    address >= p.p_vaddr && address - p.p_vaddr < p.p_filesz)
			return address - p.p_vaddr + p.p_offset;
	return -1;
}

/* Is it what a program gets that asks for no version? */
static bool is_default(Elf_Data *versions, u64 i)
{
	GElf_Versym v;

	return !versions || !gelf_getversym(versions, i, &v) || !(v & VERSION_HIDDEN);
}

static Elf_Scn *section_of(Elf *elf, u32 type, GElf_Shdr *shdr)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, shdr) && shdr->sh_type == type && shdr->sh_entsize)
			return scn;
	return NULL;
}

static enum fx_function_kind look_up(Elf *elf, const char *name, u64 *offset)
{
	GElf_Shdr shdr, version;
	Elf_Scn *symbols = section_of(elf, SHT_DYNSYM, &shdr);
	Elf_Scn *versions = section_of(elf, SHT_GNU_versym, &version);
	Elf_Data *data = symbols ? elf_getdata(symbols, NULL) : NULL;
	Elf_Data *v = versions ? elf_getdata(versions, NULL) : NULL;
	GElf_Sym sym;
	s64 at;

	for (u64 i = 0; data && i < shdr.sh_size / shdr.sh_entsize; i++) {
		const char *have;

		if (!gelf_getsym(data, i, &sym) || sym.st_shndx == SHN_UNDEF ||
		    !is_default(v, i))
			continue;
		have = elf_strptr(elf, shdr.sh_link, sym.st_name);
		if (!have || strcmp(have, name))
			continue;
		if (GELF_ST_TYPE(sym.st_info) == STT_GNU_IFUNC)
			return FX_FUNCTION_CHOSEN;
		at = GELF_ST_TYPE(sym.st_info) == STT_FUNC ? file_offset(elf, sym.st_value) : -1;
		if (at < 0)
			continue;
		*offset = at;
		return FX_FUNCTION_PLAIN;
	}
	return FX_FUNCTION_NONE;
}

enum fx_function_kind fx_library_function(const char *path, const char *name, u64 *offset)
{
	enum fx_function_kind kind = FX_FUNCTION_NONE;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ, NULL);
	if (elf)
		kind = look_up(elf, name, offset);
	elf_end(elf);
	if (fd >= 0)
		close(fd);
	return kind;
}

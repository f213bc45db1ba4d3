// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <stdlib.h>
#include <string.h>

#include <linux/fabric_ext_dpu.h>

#include "bundle.h"
#include "devices.h"
#include "diag.h"
#include "json.h"
#include "lower/dpu.h"
#include "lower/gpu.h"
#include "lower/kernel.h"
#include "lower/nic.h"
#include "system.h"
#include "util.h"

#define MAX_OBJECT	(64U << 20)

const struct fx_device fx_devices[] = {
	{
		.name = "kernel", .key = "policy",
		.crossed = "an edge crosses it without a flow",
		.file = { { "policy.bpf.o", MAX_OBJECT } },
		.crosses = fx_crosses_kernel,
		.lower = fx_lower_kernel,
		.read = fx_bundle_read_kernel,
	},
	{
		.name = "nic", .key = "nic",
		.crossed = "an edge crosses it with a flow, from or to a place of kind nic",
		.named = true, .flows = true,
		.file = {
			{ "policy.bpf.o", MAX_OBJECT },
			{ "flows.bin", FX_NIC_MAX_FLOWS * sizeof(struct fx_nic_flow) },
		},
		.crosses = fx_crosses_nic,
		.lower = fx_lower_nic,
		.read = fx_bundle_read_nics,
	},
	{
		.name = "dpu", .key = "dpu",
		.crossed = "an edge crosses it with a flow, from or to a place of kind dpu",
		.named = true, .flows = true,
		.file = {
			{ "artifact.bin", sizeof(struct fx_dpu_artifact) +
			  FX_DPU_MAX_MAPS * sizeof(struct fx_dpu_map) },
			{ "policy.bpf.o", FX_DPU_MAX_OBJECT },
			{ "flows.bin", FX_NIC_MAX_FLOWS * sizeof(struct fx_nic_flow) },
		},
		.crosses = fx_crosses_dpu,
		.lower = fx_lower_dpu,
		.read = fx_bundle_read_dpus,
	},
	{
		.name = "bpftime", .key = "bpftime", .loads = "bpftime or libbpf",
		.crossed = "an edge crosses it from or to a place of kind gpu with copies: { functions: [...] }",
		.file = { { "policy.bpf.o", MAX_OBJECT }, { "import.json", MAX_OBJECT } },
		.crosses = fx_crosses_bpftime,
		.lower = fx_lower_bpftime,
	},
	{
		.name = "cuda", .key = "cuda", .loads = "bpftime",
		.crossed = "an edge crosses it by a kernel of a place of kind gpu, copies: { kernels: { ... } }",
		.file = { { "policy.bpf.o", MAX_OBJECT } },
		.crosses = fx_crosses_cuda,
		.lower = fx_lower_cuda,
	},
	{
		.name = "ptx", .key = "ptx", .loads = "the CUDA driver",
		.crossed = "an edge crosses it at a place of kind gpu with copies: { ptx: sm_90 }",
		.file = { { "policy.ptx", MAX_OBJECT } },
		.crosses = fx_crosses_ptx,
		.lower = fx_lower_ptx,
	},
};

_Static_assert(ARRAY_SIZE(fx_devices) <= FX_MAX_DEVICES, "more devices than a bundle may have");

const u32 fx_n_devices = ARRAY_SIZE(fx_devices);

const struct fx_device *fx_device(const char *name)
{
	for (u32 i = 0; i < fx_n_devices; i++)
		if (!strcmp(fx_devices[i].name, name))
			return &fx_devices[i];
	return NULL;
}

char *fx_device_names(void)
{
	struct fx_words names = { 0 };
	char *text;

	for (u32 i = 0; i < fx_n_devices; i++)
		fx_words_add(&names, fx_devices[i].name);
	text = fx_words_text(&names, fx_n_devices);
	fx_words_free(&names);
	return text;
}

bool fx_devices_attach(const struct fx_bundle *b)
{
	const struct fx_device *other = NULL;

	for (u32 i = 0; i < b->n_part; i++) {
		char *name = fx_strndup(b->part[i].path, strcspn(b->part[i].path, "/"));
		const struct fx_device *d = fx_device(name);

		free(name);
		if (d && !d->loads)
			return true;
		other = d ? d : other;
	}
	fx_err("the bundle %s has nothing for attach to put in place: %s loads its part '%s' (Documentation/gpu.rst)",
	       b->dir, other ? other->loads : "nobody", other ? other->name : "");
	return false;
}

const struct fx_bundle_file *fx_device_file(const char *path)
{
	const char *slash = strchr(path, '/'), *file;
	const struct fx_device *d = NULL;
	char *word;

	if (!slash)
		return NULL;
	word = fx_strndup(path, slash - path);
	d = fx_device(word);
	free(word);
	if (!d)
		return NULL;
	file = slash + 1;
	if (d->named) {
		slash = strchr(file, '/');
		if (!slash)
			return NULL;
		word = fx_strndup(file, slash - file);
		file = fx_part_name_ok(word) ? slash + 1 : "";
		free(word);
	}
	for (u32 i = 0; i < FX_DEVICE_FILES && d->file[i].name; i++)
		if (!strcmp(d->file[i].name, file))
			return &d->file[i];
	return NULL;
}

void fx_lowered_add(struct fx_lowered *l, char *path, void *data, size_t size)
{
	fx_grow(l->part, l->n, l->cap);
	l->part[l->n++] = (struct fx_part){ path, data, size };
}

void fx_lowered_free(struct fx_lowered *l)
{
	fx_parts_free(l->part, l->n);
	json_object_put(l->about);
	json_object_put(l->classes);
	free(l->text);
	memset(l, 0, sizeof(*l));
}

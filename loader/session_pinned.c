// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Which policy the module runs of those that are pinned. A replacement updates the
 * link first and exchanges the pins later: killed in between, it leaves a link that
 * runs what lies in next/.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "diag.h"
#include "digest.h"
#include "nic.h"
#include "session_int.h"
#include "util.h"

#define CONF	"@conf"		/* the pin's name: no map has such a one */

enum fx_rc fx_session_write_conf(const struct fx_session *s, const char *sub)
{
	struct fx_kernel_conf conf = { .flags = s->opt.audit ? FX_POLICY_F_AUDIT : 0 };
	char *dir = fx_asprintf("%s%smaps", sub, *sub ? "/" : "");
	struct bpf_map_info info = { 0 };
	enum fx_rc rc = FX_RC_SYSTEM;
	u32 len = sizeof(info);
	const u32 zero = 0;
	int fd;

	fx_digest(s->bundle->object, s->bundle->object_size, conf.object);
	memcpy(conf.policy, s->policy, strnlen(s->policy, FX_NAME_LEN - 1));
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "fx_conf", sizeof(zero), sizeof(conf), 1, NULL);
	if (fd < 0 || bpf_map_get_info_by_fd(bpf_map__fd(s->map), &info, &len)) {
		fx_err("what the module is given cannot be written down: %s", strerror(errno));
		goto out;
	}
	conf.ops = info.id;
	if (bpf_map_update_elem(fd, &zero, &conf, BPF_ANY))
		fx_err("what the module is given cannot be written down: %s", strerror(errno));
	else
		rc = fx_pins_write_at(s->pins, dir, CONF, fd);
out:
	if (fd >= 0)
		close(fd);
	free(dir);
	return rc;
}

/* What lies below @sub says of itself: 0 or -errno. */
static int read_conf(const struct fx_session *s, const char *sub, struct fx_kernel_conf *conf)
{
	char *path = fx_asprintf("%s/%s%smaps/" CONF, s->pins->dir, sub, *sub ? "/" : "");
	int err = fx_map_read(path, conf, sizeof(*conf));

	free(path);
	conf->policy[FX_NAME_LEN - 1] = '\0';
	return err;
}

bool fx_session_is_bundles(const struct fx_session *s, const char *sub,
			   struct fx_kernel_conf *conf)
{
	u8 digest[FX_DIGEST_LEN];

	fx_digest(s->bundle->object, s->bundle->object_size, digest);
	return !read_conf(s, sub, conf) && !memcmp(conf->object, digest, sizeof(digest));
}

const char *fx_session_running(const struct fx_session *s)
{
	static const char *const subs[] = { "", FX_KERNEL_NEXT };
	int link = fx_pins_link(s->pins);
	struct bpf_link_info info = { 0 };
	struct fx_kernel_conf conf;
	u32 len = sizeof(info);
	bool known;

	if (link < 0)
		return NULL;
	known = !bpf_link_get_info_by_fd(link, &info, &len);
	close(link);
	for (u32 i = 0; known && i < ARRAY_SIZE(subs); i++)
		if (!read_conf(s, subs[i], &conf) && conf.ops == info.struct_ops.map_id)
			return subs[i];
	return NULL;
}

enum fx_rc fx_session_check_pinned(const struct fx_session *s)
{
	struct fx_kernel_conf next, conf;

	/* one that was pinned by an older fabricctl says nothing of itself */
	if (!s->bundle->object || read_conf(s, "", &conf) ||
	    fx_session_is_bundles(s, "", &conf) ||
	    fx_session_is_bundles(s, FX_KERNEL_NEXT, &next))
		return FX_RC_OK;
	fx_err("the policy '%s' of graph '%s' in the module is not the bundle's; repair with the bundle that was attached, or attach --replace",
	       conf.policy, fx_session_graph(s));
	return FX_RC_INPUT;
}

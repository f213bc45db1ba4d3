// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A queue pair is bound at a DPU by asking its fabric-dpu. */
#include <errno.h>
#include <string.h>

#include "diag.h"
#include "dpu.h"
#include "tag_dev.h"

static enum fx_rc tell(const struct fx_tag_at *at, int err)
{
	fx_err("%s", fx_dpu_why(at->dpu));
	return err == -EEXIST || err == -EBUSY || err == -EPERM || err == -EOPNOTSUPP ?
	       FX_RC_INPUT : FX_RC_SYSTEM;
}

static enum fx_rc connect_to(struct fx_tag_at *at)
{
	struct fx_dpu_info info;
	int err = fx_dpu_open(at->view->conf.netdev, &at->dpu);

	if (!err)
		err = fx_dpu_info(at->dpu, &info);
	if (!err)
		err = fx_dpu_can_qp(at->dpu, &info);
	return err ? tell(at, err) : FX_RC_OK;
}

/* By its rows, so that nothing is begun in vain; the DPU looks again. */
static enum fx_rc check_free(const struct fx_tag_at *at, u32 qp)
{
	const struct fx_nic_row *row = at->view->row;
	struct fx_flow_key key = row[at->row].key;

	key.qp = qp;
	for (u32 i = 0; i < at->view->conf.rows; i++)
		if (i != at->row && row[i].dir == row[at->row].dir &&
		    !memcmp(&row[i].key, &key, sizeof(key)))
			return fx_tag_taken(at, qp, i);
	return FX_RC_OK;
}

static int rebind(const struct fx_tag_at *at, u32 old, u32 qp)
{
	const struct fx_nic_row *row = &at->view->row[at->row];

	/* which one it had, the DPU knows */
	(void)old;
	return fx_dpu_tag(at->dpu, at->graph, row->edge, row->dir, qp);
}

static void hang_up(struct fx_tag_at *at)
{
	fx_dpu_close(at->dpu);
}

const struct fx_tag_kind fx_tag_dpu = {
	.noun = "dpu", .open = connect_to, .check = check_free, .bind = rebind,
	.tell = tell, .close = hang_up,
};

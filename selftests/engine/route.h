/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What route.c tells its policy to answer, and what the policy heard. */
#ifndef ENGINE_ROUTE_H
#define ENGINE_ROUTE_H

#define ROUTE_GRAPH	"engine-route"
#define KEEP		0xffffffffu	/* leave the field as it came */

struct route_control {
	/* answers */
	int verdict;
	unsigned int place, xforms, priority, chunk;
	/* heard by route */
	unsigned int routed, asked_place, asked_xforms, src_place;
	unsigned long long asked_bytes;
	/* heard by complete */
	unsigned int completed, last_reason, last_place, last_csum;
	int last_error;
	unsigned long long bytes_in, bytes_out;
	/* heard by admit, of CPU access */
	unsigned int cpu_edge;
};

#endif

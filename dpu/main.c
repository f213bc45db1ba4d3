// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fabric-dpu NAME [EAL options]: one DPU on this machine.
 *
 *	fabric-dpu dpu0 -l 0,1 --no-huge -m 64 --no-pci --vdev=net_af_packet0,iface=v0
 *
 * The first lcore serves the control socket, the others take packets.
 */
#include <bpf/libbpf.h>
#include <ctype.h>
#include <errno.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_rcu_qsbr.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "dpu.h"

#define RING		512
#define MBUFS		4095	/* 2^n - 1, as the pool likes it */
#define CACHE		128

static int complain(const char *what)
{
	fprintf(stderr, "fabric-dpu: %s\n", what);
	return -1;
}

static void usage(FILE *to)
{
	fprintf(to,
		"fabric-dpu NAME [EAL OPTIONS]\n"
		"\n"
		"Runs the policy of a graph whose place has `match: { dpu: NAME }` on the packets\n"
		"of one or two ports: the first is the wire's, the second the host's. It needs two\n"
		"lcores or more, which may share a CPU: --lcores '0,1@0'. For example\n"
		"\n"
		"  fabric-dpu dpu0 -l 0,1 --no-huge -m 64 --no-pci --vdev=net_af_packet0,iface=eth0\n");
}

static bool name_ok(const char *name)
{
	size_t len = strlen(name), i = 0;

	while (i < len && (isalnum((u8)name[i]) || name[i] == '_' || name[i] == '-'))
		i++;
	return len && len < FX_NIC_NAME_LEN && i == len && *name != '-';
}

/* With a pool of its own: one that AF_XDP shares with the kernel is one socket's. */
static int start_port(u16 port)
{
	struct rte_eth_conf conf = { 0 };
	u16 rx = RING, tx = RING;
	struct rte_mempool *pool;
	char name[16];
	int err;

	snprintf(name, sizeof(name), "packets%u", port);
	pool = rte_pktmbuf_pool_create(name, MBUFS, CACHE, 0, RTE_MBUF_DEFAULT_BUF_SIZE,
				       (int)rte_socket_id());
	if (!pool)
		return complain("there is no memory for packets; -m 64 is enough");
	err = rte_eth_dev_configure(port, 1, 1, &conf);
	if (!err)
		err = rte_eth_dev_adjust_nb_rx_tx_desc(port, &rx, &tx);
	if (!err)
		err = rte_eth_rx_queue_setup(port, 0, rx, rte_eth_dev_socket_id(port), NULL, pool);
	if (!err)
		err = rte_eth_tx_queue_setup(port, 0, tx, rte_eth_dev_socket_id(port), NULL);
	if (!err)
		err = rte_eth_dev_start(port);
	if (err) {
		fprintf(stderr, "fabric-dpu: port %u cannot be started: %s\n", port, strerror(-err));
		return -1;
	}
	/* not every device has it, and a veth sees all there is */
	rte_eth_promiscuous_enable(port);
	return 0;
}

static int start_ports(struct fx_dpu_state *dpu)
{
	dpu->ports = rte_eth_dev_count_avail();
	if (!dpu->ports || dpu->ports > FX_DPU_MAX_PORTS)
		return complain("there must be one port, or two; give --vdev=net_af_packet0,iface=... for each");
	for (u16 port = 0; port < dpu->ports; port++)
		if (start_port(port))
			return -1;
	return 0;
}

static int start_workers(struct fx_dpu_state *dpu, struct fx_dpu_worker *w)
{
	unsigned int lcore;
	u32 i = 0;

	dpu->workers = rte_lcore_count() - 1;
	if (!dpu->workers || dpu->workers > FX_DPU_MAX_WORKERS)
		return complain("it takes 2 to 17 lcores, of which the first takes no packets: -l 0,1 or --lcores '0,1@0'");
	dpu->seen = rte_zmalloc(NULL, rte_rcu_qsbr_get_memsize(dpu->workers), RTE_CACHE_LINE_SIZE);
	if (!dpu->seen || rte_rcu_qsbr_init(dpu->seen, dpu->workers))
		return complain("there is no memory; -m 64 is enough");
	RTE_LCORE_FOREACH_WORKER(lcore) {
		w[i] = (struct fx_dpu_worker){ .dpu = dpu, .number = i };
		if (rte_eal_remote_launch(fx_dpu_worker_main, &w[i], lcore))
			return complain("an lcore cannot be started");
		i++;
	}
	return 0;
}

/* Threads inherit it: signals are for the control socket's loop. */
static void block_signals(void)
{
	sigset_t ends;

	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	signal(SIGPIPE, SIG_IGN);
}

int main(int argc, char **argv)
{
	struct fx_dpu_worker worker[FX_DPU_MAX_WORKERS];
	struct fx_dpu_state dpu = { .turn = PTHREAD_MUTEX_INITIALIZER };
	char why[FX_DPU_WHY_LEN];
	int rc = 1;

	if (argc > 1 && (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help"))) {
		usage(stdout);
		return 0;
	}
	if (argc < 2 || !name_ok(argv[1])) {
		usage(stderr);
		return 1;
	}
	/* process numbers come again; by this a client sees that all was lost */
	if (getrandom(&dpu.life, sizeof(dpu.life), 0) != sizeof(dpu.life)) {
		complain("the kernel gives no random number");
		return 1;
	}
	dpu.life |= 1;
	dpu.name = argv[1];
	argv[1] = argv[0];
	block_signals();
	/* what is wrong with an object is told to who sent it */
	libbpf_set_print(NULL);
	if (rte_eal_init(argc - 1, argv + 1) < 0)
		return 1;
	if (!start_ports(&dpu) && !start_workers(&dpu, worker) && !fx_dpu_control(&dpu))
		rc = 0;
	__atomic_store_n(&dpu.quit, true, __ATOMIC_RELAXED);
	rte_eal_mp_wait_lcore();
	/* who is away does not hold this up any more */
	if (dpu.loaded)
		fx_dpu_unload(&dpu, why);
	for (u16 port = 0; port < dpu.ports; port++)
		if (!rte_eth_dev_stop(port))
			rte_eth_dev_close(port);
	rte_eal_cleanup();
	return rc;
}

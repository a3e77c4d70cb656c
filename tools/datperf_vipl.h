/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of datperf --api vipl share: one end of the connection. */
#ifndef DATPERF_VIPL_H
#define DATPERF_VIPL_H

#include <stdbool.h>
#include <stdint.h>

#include <vipl.h>

#include "datperf.h"

enum {
	END_CREDITS = 8,	/* receives for control messages, more than are ever outstanding */
	END_CONTROL = 64,	/* the space for one */
};

/* Where the other side accesses this one's memory. It is sent in the first control message. */
struct end_place {
	uint64_t in;		/* first byte of the incoming slots */
	uint64_t out;
	uint64_t handle;
};

/*
 * One end. Its memory is one region: descriptors; control messages, the last of which is outgoing;
 * one window of slots for incoming messages, in each of which two receives are posted; one window for
 * outgoing ones. As much memory as the tests of DAT use, because the processor's caches decide the bandwidth.
 */
struct end {
	const struct perf_options *opt;
	struct perf_spec spec;
	bool server;
	VIP_NIC_HANDLE nic;
	VIP_NIC_ATTRIBUTES nic_attr;
	VIP_VI_HANDLE vi;
	VIP_MEM_HANDLE handle;
	VIP_DESCRIPTOR *recv;		/* a ring: 2 * slots, and at least END_CREDITS */
	VIP_DESCRIPTOR *send;		/* a ring: slots + 1, the last for control messages */
	unsigned char *control;
	unsigned char *in, *out;
	uint64_t descriptors;		/* bytes of all descriptors */
	uint64_t stride;		/* from one slot to the next */
	uint32_t slots;			/* outstanding messages; 2 for one at a time */
	uint32_t recvs;			/* descriptors in the ring of receives */
	/* the server reports here that it can be reached, and the client waits for that */
	int ready_fd;
	struct end_place there;
	uint64_t recv_posted, recv_taken;	/* receives since the connection exists */
	uint64_t posted, completed;	/* requests, without control messages */
	uint64_t got;			/* messages of the peer's that were taken, or seen */
	uint64_t credited;		/* messages that the peer is known to have taken (send-bw) */
};

/* datperf_vipl.c: why a call failed; always -1 */
int end_failed(const char *call, VIP_RETURN ret);

#define TRY(call) do { VIP_RETURN r_ = (call); if (r_ != VIP_SUCCESS) return end_failed(#call, r_); } \
	while (0)

/* datperf_vipl_run.c: the messages. Before the connection: its receives; then the phases. */
int end_post_recvs(struct end *e);
int end_run(struct end *e, struct perf_hist *hist, double *seconds);

#endif

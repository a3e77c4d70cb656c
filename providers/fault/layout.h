/* SPDX-License-Identifier: BSD-2-Clause */
/* What the APIs have at different places in their structures. Nothing here depends on the API of the program. */
#ifndef LAYOUT_H
#define LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fault_layout {
	int connected; /* DAT_EP_STATE_CONNECTED */
	bool events_stay; /* those of a connection whose endpoint is freed stay in their EVD */
	/* Sets the length in a completion event of a DTO to 0. */
	void (*no_length)(void *event);
	/* The masks by which dat_ep_query() returns the EVDs and dat_evd_query() the CNO, and functions that read these results. */
	uint64_t ep_evds, evd_cno;
	void (*evds)(const void *ep_param, void **recv, void **request);
	void *(*cno)(const void *evd_param);
};

/* Enough for a DAT_EP_PARAM, a DAT_EVD_PARAM and a DAT_EVENT of either API. */
#define FAULT_PARAM_MAX 512

extern const struct fault_layout fault_layout12, fault_layout20;

#endif

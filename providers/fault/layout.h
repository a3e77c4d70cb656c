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
	/* Returns whether a completion event of a DTO is that of a Receive. NULL for DAT 1.2, whose events do not say it. */
	bool (*is_recv)(const void *event);
	/* The masks by which dat_evd_query() returns the CNO and the flags, and functions that read the result. */
	uint64_t evd_cno, evd_flags;
	void *(*cno)(const void *evd_param);
	bool (*has_completions)(const void *evd_param);
	/* An empty EVD and a timeout are reported without the class if the EVD has completions, and with it if not. */
	bool completions_bare;
};

/* Enough for a DAT_EVD_PARAM of either API. */
#define FAULT_PARAM_MAX 512

extern const struct fault_layout fault_layout12, fault_layout20;

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* A call as text, which is truncated at the end of the space. Nothing here depends on the API of the program. */
#ifndef TEXT_H
#define TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct trace_text {
	char *at;
	size_t left;
	bool json; /* "name": "value" pairs instead of name=value */
	bool some; /* at least one was written */
};

void trace_put(struct trace_text *text, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Appends what has other types in another API: a DAT_EVENT, n DAT_LMR_TRIPLETs, a DAT_RMR_TRIPLET, the number of an extension. */
struct trace_api {
	void (*put_event)(struct trace_text *text, const void *event);
	void (*put_segments)(struct trace_text *text, const void *iov, int n);
	void (*put_target)(struct trace_text *text, const void *target);
	void (*put_op)(struct trace_text *text, unsigned int op);
};

extern const struct trace_api trace_api12, trace_api20;

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of the tracing wrapper share. */
#ifndef TRACE_H
#define TRACE_H

#include <stdbool.h>
#include <stddef.h>

#include <datp/wrap.h>

#include "text.h"

enum trace_format { TRACE_TEXT, TRACE_CHROME };

/*
 * output.c: the destination of records. A process has one for each file, and its adapters share it.
 */
struct trace_output;

/* Returns NULL if the file cannot be used; *why says what is wrong with it, and what to do. */
struct trace_output *trace_output_open(const char *file, enum trace_format format, char *why,
				       size_t size);
void trace_output_close(struct trace_output *output);
/* Writes one record, completely or not at all. */
void trace_output_write(struct trace_output *output, const char *record, size_t len);

/* print.c: a call as text */
void trace_put_string(struct trace_text *text, const char *string);
void trace_print_args(struct trace_text *text, const struct datp_wrap *wrap, const struct datp_wrap_call *call);
const char *trace_ret_name(const struct datp_wrap *wrap, DAT_RETURN ret, char *buf, size_t size);

#endif

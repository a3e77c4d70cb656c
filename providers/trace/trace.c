/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tracing wrapper: writes down each DAT call on its way to another adapter, with its arguments
 * by name, its result, how long it took and which thread made it; as text, or as Chrome trace JSON,
 * which Perfetto opens. Its instance data:
 *
 *	NAME [file=FILE] [format=text|chrome] [polls=on|off]
 *
 * Invariant: a record is written when its call is over, on the thread of the call, and in one
 * piece.
 */
#include <datp/options.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "trace.h"

#define RECORD_MAX 4096

struct trace {
	struct datp_wrap base;
	struct trace_output *output;
	enum trace_format format;
	bool polls; /* whether dequeues of an empty queue are logged */
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool trace_before(struct datp_wrap *wrap, struct datp_wrap_call *call)
{
	(void)wrap;
	call->scratch[0] = now_ns();
	return true;
}

/* One line of text: time, thread, call, result, duration. */
static size_t record_text(const struct datp_wrap *wrap, const struct datp_wrap_call *call, const char *ret,
			  uint64_t from, uint64_t took, char *record)
{
	struct trace_text text = { .at = record, .left = RECORD_MAX - 2 };

	trace_put(&text, "%" PRIu64 ".%06u %d/%d dat_%s(", from / 1000000000,
		  (unsigned int)(from / 1000 % 1000000), (int)getpid(), (int)gettid(),
		  datp_call_name(call->id));
	trace_print_args(&text, wrap, call);
	trace_put(&text, ") = %s <%" PRIu64 ".%03uus>", ret, took / 1000,
		  (unsigned int)(took % 1000));
	*text.at++ = '\n';
	return (size_t)(text.at - record);
}

/*
 * A complete event ("X") of the trace event format; if a record is too long, arguments are left
 * out, not its end.
 */
static size_t record_json(const struct datp_wrap *wrap, const struct datp_wrap_call *call,
			  const char *ret, uint64_t from, uint64_t took, char *record)
{
	char args[RECORD_MAX - 1024], beneath[DAT_NAME_MAX_LENGTH];
	struct trace_text text = { .at = args, .left = sizeof(args), .json = true };
	struct trace_text name = { .at = beneath, .left = sizeof(beneath) };
	char *end;

	trace_put_string(&name, wrap->beneath);
	trace_print_args(&text, wrap, call);
	if (text.left <= 1) {
		/* back to the end of an argument */
		end = strstr(args, "\", \"") ? args + sizeof(args) - 1 : args;
		while (end > args && strncmp(end, "\", \"", 4) != 0)
			end--;
		strcpy(end, end > args ? "\"" : "");
	}
	return (size_t)snprintf(record, RECORD_MAX,
				"{\"name\": \"dat_%s\", \"cat\": \"%s\", \"ph\": \"X\", "
				"\"ts\": %" PRIu64 ".%03u, \"dur\": %" PRIu64 ".%03u, "
				"\"pid\": %d, \"tid\": %d, "
				"\"args\": {%s%s\"result\": \"%s\"}}",
				datp_call_name(call->id), beneath, from / 1000,
				(unsigned int)(from % 1000), took / 1000,
				(unsigned int)(took % 1000), (int)getpid(), (int)gettid(), args,
				args[0] ? ", " : "", ret);
}

static void trace_after(struct datp_wrap *wrap, struct datp_wrap_call *call)
{
	struct trace *trace = (struct trace *)wrap;
	uint64_t now = now_ns(), from = call->scratch[0] ? call->scratch[0] : now;
	char record[RECORD_MAX], buf[128];
	const char *ret;
	size_t len;

	if (!trace->polls && call->id == DATP_CALL_evd_dequeue &&
	    DAT_GET_TYPE(call->ret) == DAT_QUEUE_EMPTY)
		return;
	ret = trace_ret_name(wrap, call->ret, buf, sizeof(buf));
	if (trace->format == TRACE_TEXT)
		len = record_text(wrap, call, ret, from, now - from, record);
	else
		len = record_json(wrap, call, ret, from, now - from, record);
	trace_output_write(trace->output, record, len);
}

/* The options in the instance data. */
struct asked {
	bool polls;
	uint32_t format;     /* enum trace_format */
	char file[PATH_MAX]; /* "": standard error */
};

static enum datp_err take_file(void *to, const char *value, char *why, size_t size)
{
	struct asked *asked = to;

	if (strlen(value) >= sizeof(asked->file)) {
		snprintf(why, size, "the name after file= is too long; name another file");
		return DATP_ERR_PARAM;
	}
	strcpy(asked->file, value);
	return DATP_OK;
}

static const char *const formats[] = { [TRACE_TEXT] = "text", [TRACE_CHROME] = "chrome", NULL };

static const struct datp_option table[] = {
	DATP_OPTION_OTHER("file", "FILE", take_file, "the file to write to"),
	DATP_OPTION_ENUM("format", struct asked, format, TRACE_TEXT, formats, "the form of the records"),
	DATP_OPTION_BOOL("polls", struct asked, polls, true,
			 "whether dequeues of an empty queue are written"),
};
static const struct datp_options options = DATP_OPTIONS(table, NULL, NULL);

static enum datp_err trace_open(struct datp_wrap *wrap, const char *params)
{
	struct trace *trace = (struct trace *)wrap;
	struct asked asked = { .file = "" };
	char why[DATP_WHY_MAX];
	enum datp_err err;

	datp_options_preset(&options, &asked);
	err = datp_options_take(&options, params, &asked, why, sizeof(why));
	if (!err && asked.format == TRACE_CHROME && !asked.file[0]) {
		snprintf(why, sizeof(why), "format=chrome needs a file; add file=FILE");
		err = DATP_ERR_PARAM;
	}
	trace->format = (enum trace_format)asked.format;
	trace->polls = asked.polls;
	if (!err) {
		trace->output = trace_output_open(asked.file, trace->format, why, sizeof(why));
		err = trace->output ? DATP_OK : DATP_ERR_DEVICE;
	}
	if (err)
		datp_wrap_refuse("%s", why);
	return err;
}

static void trace_close(struct datp_wrap *wrap)
{
	trace_output_close(((struct trace *)wrap)->output);
}

static const struct datp_wrap_ops trace_ops = {
	.wrap_size = sizeof(struct trace),
	.open = trace_open,
	.close = trace_close,
	.before = trace_before,
	.after = trace_after,
	.apis = DATP_WRAP_API_20,
};

DATP_WRAPPER("trace", trace_ops)

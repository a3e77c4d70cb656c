/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Describes a plugin without registering it. Invariant: the keys are the same for every plugin, in
 * the same order; new ones are appended.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core.h"
#include "dump.h"
#include "ops_list.h"
#include "providers/common/base/refuse.h"
#include "providers/common/base/sdk.h"

/* While `on`, the initialisation of a plugin on this thread describes the plugin instead of registering it. */
static _Thread_local struct {
	bool on;
	void (*describe)(const struct dump_output *output, const void *desc);
	const void *desc;
} dump;

bool plugin_dump_takes(void (*describe)(const struct dump_output *output, const void *desc),
		       const void *desc)
{
	if (dump.on) {
		dump.describe = describe;
		dump.desc = desc;
	}
	return dump.on;
}

void dump_say(const struct dump_output *output, const char *key, const char *fmt, ...)
{
	char value[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(value, sizeof(value), fmt, args);
	va_end(args);
	output->line(output->arg, key, value);
}

static void say_op(const struct dump_output *output, const char *name, bool present, const char *otherwise)
{
	char key[64];

	snprintf(key, sizeof(key), "op.%s", name);
	dump_say(output, key, "%s", present ? "present" : otherwise);
}

static void say_size(const struct dump_output *output, const char *name, uint32_t size)
{
	char key[64];

	snprintf(key, sizeof(key), "size.%s", name);
	if (size)
		dump_say(output, key, "%u", size);
	else
		dump_say(output, key, "default");
}

/* The keys that a plugin and a wrapper have in common. */
void dump_head(const struct dump_output *output, const char *name, const char *version, uint32_t major,
		     uint32_t minor, bool loads)
{
	dump_say(output, "name", "%s", name);
	dump_say(output, "version", "%s", version ? version : "unknown");
	dump_say(output, "sdk", "%u.%u", major, minor);
	dump_say(output, "host", "%u.%u", DATP_SDK_MAJOR, DATP_SDK_MINOR);
	dump_say(output, "loads", "%s", loads ? "yes" : "no");
	dump_say(output, "why", "%s", loads ? "" : datp_plugin_why());
}

void dump_plugin(const struct dump_output *output, const void *what)
{
	const struct datp_plugin *desc = what;
	size_t size = desc->ops_size;
	struct datp_ops ops = { 0 }, total;

	plugin_refuse_begin();
	dump_head(output, desc->name, sdk_since(desc->sdk_major, desc->sdk_minor, 2) ? desc->version : NULL, desc->sdk_major,
		 desc->sdk_minor, plugin_negotiate(desc, &total));
	if (!sdk_is_served(desc->sdk_major))
		return; /* the rest has a form that this libdatp does not know */
	memcpy(&ops, desc->ops, size < sizeof(ops) ? size : sizeof(ops));
	dump_say(output, "needs", "0x%x", ops.needs);
	dump_say(output, "traits", "0x%x", ops.traits);
#define X(type, head) say_size(output, #type, ops.type##_size);
	SIZED_OBJECTS(X)
#undef X
	/* with a table of LMRs lmr_find has a default */
#define X(op) say_op(output, #op, ops.op, total.op ? "default" : "missing");
	REQUIRED_OPS(X)
#undef X
#define X(op, fn) say_op(output, #op, ops.op, "default");
	OPTIONAL_OPS(X)
#undef X
	dump_say(output, "apis", "1.2 2.0"); /* the edges of libdatp */
	if (size > sizeof(ops))
		dump_say(output, "ignored", "%zu", (size - sizeof(ops)) / sizeof(void (*)(void)));
}

DATP_API bool datp_plugin_dump(void (*init)(const DAT_PROVIDER_INFO *info, const char *params),
			       void (*line)(void *arg, const char *key, const char *value),
			       void *arg)
{
	static const DAT_PROVIDER_INFO nobody = { .ia_name = "dump",
						  .dapl_version_major = 1,
						  .dapl_version_minor = 2 };
	const struct dump_output output = { line, arg };

	dump.describe = NULL;
	dump.on = true;
	init(&nobody, "");
	dump.on = false;
	if (dump.describe)
		dump.describe(&output, dump.desc);
	return dump.describe != NULL;
}

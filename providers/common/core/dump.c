/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tells what a plugin is made of, without registering it. Invariant: the keys are the same for
 * every plugin, in the same order; new ones are appended.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ops_list.h"
#include "providers/common/wrap/wrap.h"

/* What datp_plugin_init() of this thread does instead of registering. */
static _Thread_local const struct datp_plugin *dumped;
static _Thread_local const struct datp_wrapper *dumped_wrapper;
static _Thread_local bool dumping;

bool plugin_dump_takes(const struct datp_plugin *desc, const struct datp_wrapper *wrapper)
{
	if (dumping) {
		dumped = desc;
		dumped_wrapper = wrapper;
	}
	return dumping;
}

struct sink {
	void (*line)(void *arg, const char *key, const char *value);
	void *arg;
};

static void say(const struct sink *sink, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void say(const struct sink *sink, const char *key, const char *fmt, ...)
{
	char value[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(value, sizeof(value), fmt, args);
	va_end(args);
	sink->line(sink->arg, key, value);
}

static void say_op(const struct sink *sink, const char *name, bool present, const char *otherwise)
{
	char key[64];

	snprintf(key, sizeof(key), "op.%s", name);
	say(sink, key, "%s", present ? "present" : otherwise);
}

static void say_size(const struct sink *sink, const char *name, uint32_t size)
{
	char key[64];

	snprintf(key, sizeof(key), "size.%s", name);
	if (size)
		say(sink, key, "%u", size);
	else
		say(sink, key, "default");
}

/* What a plugin and a wrapper have in common. */
static void say_head(const struct sink *sink, const char *name, const char *version, uint32_t major,
		     uint32_t minor, bool loads)
{
	say(sink, "name", "%s", name);
	say(sink, "version", "%s", version ? version : "unknown");
	say(sink, "sdk", "%u.%u", major, minor);
	say(sink, "host", "%u.%u", DATP_SDK_MAJOR, DATP_SDK_MINOR);
	say(sink, "loads", "%s", loads ? "yes" : "no");
	say(sink, "why", "%s", loads ? "" : datp_plugin_why());
}

static void say_plugin(const struct sink *sink, const struct datp_plugin *desc)
{
	size_t size = desc->ops_size;
	struct datp_ops ops = { 0 }, total;

	plugin_refuse_begin();
	say_head(sink, desc->name, desc->sdk_minor >= 2 ? desc->version : NULL, desc->sdk_major,
		 desc->sdk_minor, plugin_negotiate(desc, &total));
	if (desc->sdk_major != DATP_SDK_MAJOR)
		return; /* the rest is in a form that we do not know */
	memcpy(&ops, desc->ops, size < sizeof(ops) ? size : sizeof(ops));
	say(sink, "needs", "0x%x", ops.needs);
	say(sink, "traits", "0x%x", ops.traits);
#define X(type, head) say_size(sink, #type, ops.type##_size);
	SIZED_OBJECTS(X)
#undef X
#define X(op) say_op(sink, #op, ops.op, "missing");
	REQUIRED_OPS(X)
#undef X
#define X(op, fn) say_op(sink, #op, ops.op, "default");
	OPTIONAL_OPS(X)
#undef X
	if (size > sizeof(ops))
		say(sink, "ignored", "%zu", (size - sizeof(ops)) / sizeof(void (*)(void)));
}

/* Objects and ops are those of the adapter beneath. */
static void say_wrapper(const struct sink *sink, const struct datp_wrapper *wrapper)
{
	struct datp_wrap_ops total;

	plugin_refuse_begin();
	say_head(sink, wrapper->name, wrapper->version, wrapper->sdk_major, wrapper->sdk_minor,
		 wrap_negotiate(wrapper, &total));
	if (wrapper->sdk_major != DATP_SDK_MAJOR)
		return;
	say(sink, "needs", "0x%x", wrapper->ops->needs);
	say(sink, "traits", "0x%x", 0);
#define X(type, head) say(sink, "size." #type, "beneath");
	SIZED_OBJECTS(X)
#undef X
#define X(op, ...) say(sink, "op." #op, "beneath");
	REQUIRED_OPS(X)
	OPTIONAL_OPS(X)
#undef X
}

DATP_API bool datp_plugin_dump(void (*init)(const DAT_PROVIDER_INFO *info, const char *params),
			       void (*line)(void *arg, const char *key, const char *value),
			       void *arg)
{
	static const DAT_PROVIDER_INFO nobody = { .ia_name = "dump",
						  .dapl_version_major = 1,
						  .dapl_version_minor = 2 };
	const struct sink sink = { line, arg };

	dumped = NULL;
	dumped_wrapper = NULL;
	dumping = true;
	init(&nobody, "");
	dumping = false;
	if (dumped)
		say_plugin(&sink, dumped);
	else if (dumped_wrapper)
		say_wrapper(&sink, dumped_wrapper);
	return dumped || dumped_wrapper;
}

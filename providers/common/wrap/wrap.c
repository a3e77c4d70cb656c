/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the layers: one for each IA that is open through a wrapper, between the program and the IA
 * beneath. The first word of every object of that IA is the address of the uppermost layer's table.
 *
 * Invariant: the memory of a layer is never used for anything else, so a call that comes too late
 * finds the layer dead; a layer dies with the IA beneath, after the last call through it.
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "providers/common/base/refuse.h"
#include "providers/common/base/cancel.h"
#include "providers/common/base/futex.h"
#include "providers/common/dat12/dat12.h"
#include "wrap.h"
#include "providers/common/base/sdk.h"

/* A lower value is one of the registry's integers, or not a handle. */
#define POINTER_MIN ((uintptr_t)65536)

struct layer {
	const void *table[WRAP_TABLE_MAX / sizeof(void *)]; /* of `api`; first, because the objects point at it */
	struct layer *next; /* layers_lock, while unused */
	_Atomic bool live;
	_Atomic uint32_t calls; /* calls that are running */
	/* The rest is constant while the layer is live. */
	const struct wrap_api *api;
	const void *beneath; /* a table of `api` */
	/* the layer whose table `beneath` is, or NULL if the table is another provider's */
	struct layer *under;
	struct plugin *plugin;
	struct datp_wrap_ops ops; /* complete: no op is NULL */
	struct datp_wrap *wrap;
	DAT_IA_HANDLE handle; /* the registry's handle of the IA beneath */
	char name[DAT_NAME_MAX_LENGTH];
};

static _Atomic uint32_t layers_lock; /* no other lock is taken under it */
static struct layer *layers_unused;

/* The adapters that this thread is opening, the innermost first. */
struct opening {
	const char *name;
	const struct opening *outer;
};

static _Thread_local const struct opening *openings;

/*
 * The wait whose hooks this thread is running, for the uppermost layer. The thread cannot be
 * cancelled in the hooks, but it can in the provider beneath, with the settings that are kept here.
 */
static _Thread_local struct cancel *waiting;

/* ------------------------------------------------------------------ layers */

static struct layer *layer_new(void)
{
	struct layer *layer;

	datp_lock(&layers_lock);
	layer = layers_unused;
	if (layer)
		layers_unused = layer->next;
	datp_unlock(&layers_lock);
	return layer ? layer : calloc(1, sizeof(*layer));
}

static void layer_delete(struct layer *layer)
{
	datp_lock(&layers_lock);
	layer->next = layers_unused;
	layers_unused = layer;
	datp_unlock(&layers_lock);
}

void wrap_forget_all(void)
{
	atomic_store_explicit(&layers_lock, 0, memory_order_relaxed);
}

/*
 * Counts a call. Returns whether the layer is live; if it is not, layer_kill() may not have waited
 * for this call. These three functions use sequentially consistent accesses, so that a call that
 * finds the layer live is seen by layer_kill().
 */
static bool layer_pin(struct layer *layer)
{
	atomic_fetch_add(&layer->calls, 1);
	return atomic_load(&layer->live);
}

static void layer_unpin(void *arg)
{
	struct layer *layer = arg;

	if (atomic_fetch_sub(&layer->calls, 1) == 1 && !atomic_load(&layer->live))
		futex_wake(&layer->calls, false);
}

static void layer_kill(struct layer *layer)
{
	atomic_store(&layer->live, false);
	futex_await_zero(&layer->calls);
}

/* ------------------------------------------------------------------ objects */

/* Adopts an object of the IA beneath that is seen for the first time; ignores any other handle. */
static void adopt(struct layer *layer, DAT_HANDLE handle)
{
	const void **word = handle;
	const void *was;

	if ((uintptr_t)handle < POINTER_MIN || ((uintptr_t)handle & 7))
		return;
	/* acquire, release: a thread that finds the object adopted may call through the table */
	was = __atomic_load_n(word, __ATOMIC_ACQUIRE);
	if (was == layer->beneath)
		__atomic_compare_exchange_n(word, &was, layer->table, false, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED);
}

static void adopt_results(struct layer *layer, enum datp_call id, const uint64_t *w)
{
	const struct datp_arg *args;
	int n = layer->api->args(id, &args);

	for (int i = 0; i < n; i++) {
		void *at = (void *)(uintptr_t)w[i];

		if (!at)
			continue;
		/* not the EVD for asynchronous errors, which may belong to another IA */
		if (args[i].kind == DATP_ARG_OUT_HANDLE && id != DATP_CALL_ia_query)
			adopt(layer, *(DAT_HANDLE *)at);
		else if (args[i].kind == DATP_ARG_EVENT)
			adopt(layer, layer->api->event_brings(at));
	}
	if (id == DATP_CALL_cr_query && (w[1] & DAT_CR_FIELD_LOCAL_EP_HANDLE))
		adopt(layer, ((const DAT_CR_PARAM *)(uintptr_t)w[2])->local_ep_handle);
}

/* ------------------------------------------------------------------ calls */

static DAT_RETURN layer_call(struct layer *layer, enum datp_call id, const uint64_t *w);

static bool is_wait(enum datp_call id)
{
	return id == DATP_CALL_evd_wait || id == DATP_CALL_cno_wait;
}

/*
 * Writes the adapter's name: that by which dat.conf names this wrapper, not the adapter beneath. Both APIs have it first,
 * and the same bit for it in the mask.
 */
static void ia_queried(struct layer *layer, const uint64_t *w)
{
	DAT_IA_ATTR *attr = (DAT_IA_ATTR *)(uintptr_t)w[3];

	if (attr && (w[2] & DAT_IA_FIELD_IA_ADAPTER_NAME))
		snprintf(attr->adapter_name, sizeof(attr->adapter_name), "%s", layer->wrap->name);
}

/* The provider's own part of a call; in a wait, the thread may be cancelled in this part. */
static DAT_RETURN provider_call(const struct layer *layer, enum datp_call id, const uint64_t *w)
{
	struct cancel *own = waiting;
	DAT_RETURN ret;

	if (!is_wait(id) || !own)
		return layer->api->invoke(layer->beneath, id, w);
	waiting = NULL; /* the thread may end in this call */
	cancel_restore(own);
	ret = layer->api->invoke(layer->beneath, id, w);
	cancel_off(own);
	waiting = own;
	return ret;
}

static DAT_RETURN beneath_call(struct layer *layer, enum datp_call id, const uint64_t *w)
{
	DAT_RETURN ret;

	ret = layer->under ? layer_call(layer->under, id, w)
			   : provider_call(layer, id, w);
	if (ret == DAT_SUCCESS)
		adopt_results(layer, id, w);
	if (ret == DAT_SUCCESS && id == DATP_CALL_ia_query)
		ia_queried(layer, w);
	return ret;
}

static DAT_RETURN hooked_call(struct layer *layer, enum datp_call id, const uint64_t *w)
{
	struct datp_wrap_call call = { .id = id, .arg = w };

	call.made = layer->ops.before(layer->wrap, &call);
	if (call.made)
		call.ret = beneath_call(layer, id, w);
	layer->ops.after(layer->wrap, &call);
	return call.ret;
}

/* Hooks hold locks, so they are not cancelled; the provider's own part of a wait is. */
static DAT_RETURN layer_call(struct layer *layer, enum datp_call id, const uint64_t *w)
{
	DAT_RETURN ret = layer->api->ret(datp_ret(DATP_ERR_HANDLE));
	struct cancel own, *outer;

	cancel_off(&own);
	outer = waiting;
	if (!outer && is_wait(id))
		waiting = &own;
	pthread_cleanup_push(layer_unpin, layer);
	if (layer_pin(layer))
		ret = hooked_call(layer, id, w);
	pthread_cleanup_pop(1);
	waiting = outer;
	cancel_restore(&own);
	return ret;
}

/*
 * libdat has found a layer's table in the handle's first word. Since then another thread may have
 * freed the object (the word is NULL), and even created another in its memory, which has not been
 * adopted yet.
 */
DAT_RETURN wrap_enter(const struct wrap_api *api, DAT_HANDLE handle, enum datp_call id, const uint64_t *w)
{
	const void *table = __atomic_load_n((const void **)handle, __ATOMIC_ACQUIRE);

	if (!table)
		return api->ret(datp_ret(DATP_ERR_HANDLE));
	if (!api->is_ours(table))
		return api->invoke(table, id, w);
	return layer_call((struct layer *)(uintptr_t)table, id, w);
}

/* A wrapper knows only its struct datp_wrap; the layer is stored before it. */
struct wrap_box {
	struct layer *layer;
	uint64_t align;
	struct datp_wrap wrap;
};

static struct wrap_box *box_of(struct datp_wrap *wrap)
{
	return (struct wrap_box *)(void *)((char *)wrap - offsetof(struct wrap_box, wrap));
}

static const struct layer *layer_of(const struct datp_wrap *wrap)
{
	return ((const struct wrap_box *)(const void *)((const char *)wrap - offsetof(struct wrap_box, wrap)))->layer;
}

DATP_API DAT_RETURN datp_wrap_beneath(struct datp_wrap *wrap, enum datp_call id,
				      const uint64_t *arg)
{
	struct layer *layer = box_of(wrap)->layer;

	if ((unsigned int)id >= DATP_CALL_COUNT || id == DATP_CALL_ia_open ||
	    id == DATP_CALL_ia_close)
		return layer->api->ret(dat12_arg(2));
	return beneath_call(layer, id, arg);
}

DATP_API unsigned int datp_wrap_major(const struct datp_wrap *wrap)
{
	return layer_of(wrap)->api->major;
}

DATP_API int datp_wrap_args(const struct datp_wrap *wrap, enum datp_call id, const struct datp_arg **args)
{
	return layer_of(wrap)->api->args(id, args);
}

DATP_API DAT_RETURN datp_wrap_strerror(const struct datp_wrap *wrap, DAT_RETURN ret, const char **major,
				       const char **minor)
{
	return layer_of(wrap)->api->strerror(ret, major, minor);
}

/* ------------------------------------------------------------------ opening */

static bool before_nothing(struct datp_wrap *wrap, struct datp_wrap_call *call)
{
	(void)wrap, (void)call;
	return true;
}

static void after_nothing(struct datp_wrap *wrap, struct datp_wrap_call *call)
{
	(void)wrap, (void)call;
}

static enum datp_err open_nothing(struct datp_wrap *wrap, const char *params)
{
	(void)wrap, (void)params;
	return DATP_OK;
}

static void close_nothing(struct datp_wrap *wrap)
{
	(void)wrap;
}

bool wrap_negotiate(const struct datp_wrapper *desc, struct datp_wrap_ops *ops)
{
	const struct sdk_built built = { "wrapper", desc->name, desc->sdk_major, desc->sdk_minor };
	size_t size = desc->ops_size < sizeof(*ops) ? desc->ops_size : sizeof(*ops);

	if (!sdk_version_ok(&built))
		return false;
	memset(ops, 0, sizeof(*ops));
	memcpy(ops, desc->ops, size);
	if (!sdk_needs_ok(&built, ops->needs, 0))
		return false;
	if (ops->wrap_size && ops->wrap_size < sizeof(struct datp_wrap)) {
		plugin_refuse("DUTY-06: wrapper \"%s\" says wrap_size = %u, less than the public "
			      "head of %zu; use the sizeof a struct that starts with struct "
			      "datp_wrap, or 0",
			      desc->name, ops->wrap_size, sizeof(struct datp_wrap));
		return false;
	}
	ops->open = ops->open ? ops->open : open_nothing;
	ops->close = ops->close ? ops->close : close_nothing;
	ops->before = ops->before ? ops->before : before_nothing;
	ops->after = ops->after ? ops->after : after_nothing;
	return true;
}

/*
 * Copies the first word of the instance data, which names the adapter beneath, and sets *rest to
 * the text after it. Returns false, after plugin_refuse(), if there is no such word or it is too
 * long.
 */
static bool beneath_name(const struct plugin *plugin, char name[DAT_NAME_MAX_LENGTH],
			 const char **rest)
{
	const char *at = plugin->params + strspn(plugin->params, " \t");
	size_t len = strcspn(at, " \t");

	*rest = at + len + strspn(at + len, " \t");
	if (!len || len >= DAT_NAME_MAX_LENGTH) {
		plugin_refuse("wrapper \"%s\" has no adapter to wrap; begin the instance data of "
			      "its line with the name of another adapter, as in \"soft0\"",
			      plugin->wrapper->name);
		return false;
	}
	memcpy(name, at, len);
	name[len] = '\0';
	return true;
}

/*
 * Returns true, after plugin_refuse(), if this thread is opening an adapter of this name already:
 * that adapter would be beneath itself.
 */
static bool is_circle(const struct opening *step, const char *name)
{
	char way[512] = "";
	size_t len;

	for (; step; step = step->outer) {
		if (strcmp(step->name, name) != 0)
			continue;
		for (step = openings; step; step = step->outer) {
			len = strlen(way);
			snprintf(way + len, sizeof(way) - len, " <- %s", step->name);
			if (!strcmp(step->name, name))
				break;
		}
		plugin_refuse("DUTY-16: \"%s\" would be beneath itself (%s%s); name an adapter "
			      "beneath that does not lead back here",
			      name, name, way);
		return true;
	}
	return false;
}

/* Opens the adapter beneath by its name; *object becomes its provider's own pointer. */
static DAT_RETURN beneath_open(const struct wrap_api *api, const struct plugin *plugin, const char *name,
			       DAT_COUNT qlen, DAT_EVD_HANDLE *async, DAT_IA_HANDLE *handle, DAT_IA_HANDLE *object)
{
	const struct opening step = { plugin->info.ia_name, openings };
	DAT_RETURN ret;

	openings = &step;
	if (is_circle(&step, name)) {
		openings = step.outer;
		return api->ret(datp_ret(DATP_ERR_NOT_FOUND));
	}
	ret = api->open(name, qlen, async, handle, plugin->info.is_thread_safe);
	openings = step.outer;
	if (ret != DAT_SUCCESS) {
		if (!datp_plugin_why())
			plugin_refuse("the adapter beneath, \"%s\", does not open (0x%x); name one "
				      "that passes `datctl check`",
				      name, ret);
		return ret;
	}
	ret = api->object(*handle, object);
	if (ret != DAT_SUCCESS)
		api->close(*handle, DAT_CLOSE_ABRUPT_FLAG);
	return ret;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static struct datp_wrap *wrap_new(struct layer *layer, const char *beneath)
{
	size_t size = layer->ops.wrap_size ? layer->ops.wrap_size : sizeof(struct datp_wrap);
	struct wrap_box *box = calloc(1, offsetof(struct wrap_box, wrap) + size);

	if (!box)
		return NULL;
	box->layer = layer;
	snprintf(layer->name, sizeof(layer->name), "%s", beneath);
	box->wrap.name = layer->plugin->info.ia_name;
	box->wrap.beneath = layer->name;
	return &box->wrap;
}

static void wrap_delete(struct layer *layer)
{
	free(box_of(layer->wrap));
	layer->wrap = NULL;
}

/* Puts the layer over the IA beneath, which is open. */
static void layer_put(struct layer *layer, DAT_IA_HANDLE object, DAT_EVD_HANDLE async)
{
	layer->beneath = *(const void **)object;
	layer->under =
		layer->api->is_ours(layer->beneath) ? (struct layer *)(uintptr_t)layer->beneath : NULL;
	memset(layer->table, 0, sizeof(layer->table));
	layer->table[0] = layer->plugin->info.ia_name; /* device_name */
	layer->api->table_fill(layer->table, layer->beneath);
	layer->wrap->ia = object;
	layer->wrap->async = async;
	atomic_store(&layer->live, true);
	adopt(layer, object);
	adopt(layer, async);
}

static void layer_take_off(struct layer *layer, DAT_IA_HANDLE object)
{
	__atomic_store_n((const void **)object, layer->beneath, __ATOMIC_RELEASE);
}

DAT_RETURN wrap_open(struct plugin *plugin, const char *name, DAT_COUNT qlen, DAT_EVD_HANDLE *async,
		     DAT_IA_HANDLE *ia)
{
	const struct wrap_api *api = plugin->info.dapl_version_major == 2 ? &wrap_api20 : &wrap_api12;
	DAT_EVD_HANDLE evd = *async;
	DAT_IA_HANDLE object = NULL;
	struct datp_wrap_call call = { .id = DATP_CALL_ia_open,
				       .made = true,
				       .scratch = { now_ns() } };
	char beneath[DAT_NAME_MAX_LENGTH];
	uint64_t w[4] = { (uintptr_t)name, (uint32_t)qlen, (uintptr_t)&evd, (uintptr_t)&object };
	struct layer *layer;
	const char *rest;
	enum datp_err err = DATP_ERR_MEMORY;
	DAT_RETURN ret;

	if (!beneath_name(plugin, beneath, &rest))
		return api->ret(datp_ret(DATP_ERR_NOT_FOUND));
	layer = layer_new();
	if (!layer)
		return api->ret(datp_ret(DATP_ERR_MEMORY));
	layer->api = api;
	layer->plugin = plugin;
	wrap_negotiate(plugin->wrapper, &layer->ops);
	layer->wrap = wrap_new(layer, beneath);
	ret = api->ret(datp_ret(DATP_ERR_MEMORY));
	if (!layer->wrap)
		goto delete_layer;
	ret = beneath_open(api, plugin, beneath, qlen, &evd, &layer->handle, &object);
	if (ret != DAT_SUCCESS)
		goto delete_wrap;
	/* An EVD that existed before belongs to another IA, which need not be wrapped. */
	layer_put(layer, object, *async == DAT_HANDLE_NULL ? evd : DAT_HANDLE_NULL);
	err = layer->ops.open(layer->wrap, rest);
	if (err)
		goto close_beneath;
	call.arg = w;
	layer->ops.after(layer->wrap, &call);
	*async = evd;
	*ia = object;
	return DAT_SUCCESS;

close_beneath:
	ret = api->ret(datp_ret(err));
	layer_kill(layer);
	layer_take_off(layer, object);
	api->close(layer->handle, DAT_CLOSE_ABRUPT_FLAG);
delete_wrap:
	wrap_delete(layer);
delete_layer:
	layer_delete(layer);
	return ret;
}

/*
 * Closes the IA beneath by libdat, which counts its open IAs. Before that, the IA gets the table
 * beneath back, because a layer beneath has to find its own table there, as if there were no layer
 * above it.
 */
DAT_RETURN wrap_close(DAT_IA_HANDLE ia, const uint64_t *w)
{
	struct layer *layer = __atomic_load_n((struct layer **)ia, __ATOMIC_ACQUIRE);
	struct datp_wrap_call call = { .id = DATP_CALL_ia_close, .arg = w };
	struct plugin *plugin = layer->plugin;

	call.made = layer->ops.before(layer->wrap, &call);
	if (call.made) {
		layer_take_off(layer, ia);
		call.ret = layer->api->close(layer->handle, (DAT_CLOSE_FLAGS)w[1]);
		if (call.ret != DAT_SUCCESS)
			adopt(layer, ia);
	}
	layer->ops.after(layer->wrap, &call);
	if (!call.made || call.ret != DAT_SUCCESS)
		return call.ret;
	layer_kill(layer);
	layer->ops.close(layer->wrap);
	wrap_delete(layer);
	layer_delete(layer);
	plugin_put(plugin);
	return DAT_SUCCESS;
}

DATP_API void datp_wrap_refuse(const char *fmt, ...)
{
	char text[768];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	plugin_refuse("%s", text);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* How libdatp handles plugins that are older, newer, or wrong, and its messages about them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check.h"
#include "core_null.h"
#include "providers/common/core/core.h"

/* The ops of a later SDK: the same, and more after them. */
struct future_ops {
	struct datp_ops known;
	void (*unheard_of)(void);
};

static void never(void)
{
	CHECK_FAIL("an op of the future was called");
}

static bool negotiate(const struct datp_ops *ops, size_t size, struct datp_ops *total)
{
	struct datp_plugin plugin = null_plugin;

	plugin.name = "bent";
	plugin.ops = ops;
	plugin.ops_size = (uint32_t)size;
	return plugin_negotiate(&plugin, total);
}

/* Checks that no slot is NULL. Every slot after the sizes is a function pointer, but lmr_table, which may be 0. */
static void check_total(const struct datp_ops *ops)
{
	const size_t first = offsetof(struct datp_ops, ia_open);

	for (size_t at = first; at < sizeof(*ops); at += sizeof(void (*)(void))) {
		void (*slot)(void);

		memcpy(&slot, (const char *)ops + at, sizeof(slot));
		CHECK(slot != NULL || at == offsetof(struct datp_ops, lmr_table));
	}
}

static void a_sparse_table_becomes_total(void)
{
	struct datp_ops total;

	REQUIRE(negotiate(&null_ops, sizeof(null_ops), &total));
	check_total(&total);
	CHECK(total.ia_open == null_ops.ia_open);
	CHECK_EQ_INT(total.ep_size, sizeof(struct datp_ep));
	CHECK_EQ_INT(total.srq_size, sizeof(struct datp_srq));
}

static void an_older_plugin_gets_defaults_for_what_it_does_not_know(void)
{
	struct datp_ops old = null_ops, total;
	size_t size = offsetof(struct datp_ops, rmr_create);

	/* The memory after the size is not the plugin's, and must not be read. */
	memset((char *)&old + size, 0xee, sizeof(old) - size);
	CHECK(!negotiate(&old, size, &total)); /* a plugin as old as this lacks required ops */
	CHECK_HAS_STR(datp_plugin_why(), "required ops evd_poll, ep_create");

	old = null_ops;
	size = offsetof(struct datp_ops, ep_disconnect) + sizeof(old.ep_disconnect);
	REQUIRE(negotiate(&old, size, &total));
	check_total(&total);
}

static void the_tail_of_a_newer_plugin_is_ignored(void)
{
	struct future_ops future = { .known = null_ops, .unheard_of = never };
	struct {
		struct datp_ops total;
		unsigned char guard[64];
	} room;

	memset(room.guard, 0x5a, sizeof(room.guard));
	REQUIRE(negotiate(&future.known, sizeof(future), &room.total));
	check_total(&room.total);
	for (size_t i = 0; i < sizeof(room.guard); i++)
		CHECK_EQ_INT(room.guard[i], 0x5a);
}

/*
 * libdatp knows the ops up to some slot, and a plugin those up to another: every pair has to work.
 * The sizes of released SDKs are among them.
 */
static void every_pair_of_host_and_plugin_works(void)
{
	const size_t first = offsetof(struct datp_ops, cr_move);
	struct future_ops future = { .known = null_ops, .unheard_of = never };
	struct datp_plugin plugin = null_plugin;

	plugin.ops = &future.known;
	for (size_t host = first; host <= sizeof(struct datp_ops); host += sizeof(void (*)(void))) {
		for (size_t size = first; size <= sizeof(future); size += sizeof(void (*)(void))) {
			size_t known = size < host ? size : host;
			struct datp_ops total;

			plugin.ops_size = (uint32_t)size;
			plugin.sdk_minor = (uint32_t)(size - first);
			REQUIRE(plugin_negotiate_as(&plugin, host, &total));
			check_total(&total);
			CHECK(!memcmp((const char *)&total + offsetof(struct datp_ops, sp_listen),
				      (const char *)&null_ops +
					      offsetof(struct datp_ops, sp_listen),
				      first - offsetof(struct datp_ops, sp_listen)));
			CHECK((total.cr_move == null_ops.cr_move) ==
			      (known >= first + sizeof(total.cr_move) && null_ops.cr_move));
		}
	}
}

static void an_unknown_need_is_refused_by_name(void)
{
	struct datp_ops ops = null_ops, total;
	const char *text;

	ops.needs = 0x40;
	CHECK(!negotiate(&ops, sizeof(ops), &total));
	text = datp_plugin_why();
	CHECK_HAS_STR(text, "\"bent\"");
	CHECK_HAS_STR(text, "0x40");
	CHECK_HAS_STR(text, "leave that bit out");
}

static void a_later_need_asks_for_a_later_libdatp(void)
{
	struct datp_ops ops = null_ops, total;
	struct datp_plugin plugin = null_plugin;

	ops.needs = 0x40;
	plugin.ops = &ops;
	plugin.sdk_minor = DATP_SDK_MINOR + 1;
	CHECK(!plugin_negotiate(&plugin, &total));
	CHECK_HAS_STR(datp_plugin_why(), "install a libdatp");
}

static void another_major_is_refused(void)
{
	struct datp_plugin plugin = null_plugin;
	struct datp_ops total;
	const char *text;

	plugin.sdk_major = DATP_SDK_MAJOR + 1;
	CHECK(!plugin_negotiate(&plugin, &total));
	text = datp_plugin_why();
	CHECK_HAS_STR(text, "SDK 2.");
	CHECK_HAS_STR(text, "rebuild the plugin");
}

static void a_later_minor_is_served(void)
{
	struct datp_plugin plugin = null_plugin;
	struct datp_ops total;

	plugin.sdk_minor = DATP_SDK_MINOR + 7;
	CHECK(plugin_negotiate(&plugin, &total));
}

static void every_missing_required_op_is_named(void)
{
	static const struct {
		const char *name;
		size_t offset;
	} required[] = {
#define R(op) { #op, offsetof(struct datp_ops, op) }
		R(ia_open),	   R(ia_close),	 R(ia_query),  R(lmr_create),
		R(lmr_free),	   R(lmr_find),	 R(evd_poll),  R(ep_create),
		R(ep_free),	   R(post_send), R(post_recv), R(post_rdma_write),
		R(post_rdma_read), R(sp_listen), R(sp_close),  R(ep_connect),
		R(cr_accept),	   R(cr_reject), R(cr_free),   R(ep_disconnect),
#undef R
	};

	for (size_t i = 0; i < sizeof(required) / sizeof(required[0]); i++) {
		struct datp_ops ops = null_ops, total;
		const char *text;

		memset((char *)&ops + required[i].offset, 0, sizeof(void (*)(void)));
		CHECK(!negotiate(&ops, sizeof(ops), &total));
		text = datp_plugin_why();
		CHECK_HAS_STR(text, "\"bent\"");
		CHECK_HAS_STR(text, required[i].name);
	}
}

static void all_missing_ops_are_named_at_once(void)
{
	struct datp_ops ops = null_ops, total;
	const char *text;

	ops.sp_listen = NULL;
	ops.ia_query = NULL;
	CHECK(!negotiate(&ops, sizeof(ops), &total));
	text = datp_plugin_why();
	CHECK_HAS_STR(text, "sp_listen");
	CHECK_HAS_STR(text, "ia_query");
}

static void an_object_smaller_than_its_head_is_refused(void)
{
	struct datp_ops ops = null_ops, total;
	const char *text;

	ops.ep_size = sizeof(struct datp_ep) - 8;
	CHECK(!negotiate(&ops, sizeof(ops), &total));
	text = datp_plugin_why();
	CHECK_HAS_STR(text, "ep_size");
	CHECK_HAS_STR(text, "struct datp_ep");
}

static void optional_ops_say_that_the_model_is_not_supported(void)
{
	struct datp_ops ops = null_ops, total;
	int32_t n;

	ops.rmr_create = NULL;
	REQUIRE(negotiate(&ops, sizeof(ops), &total));
	CHECK_EQ_INT(total.rmr_create(NULL), DATP_ERR_MODEL);
	CHECK_EQ_INT(total.srq_create(NULL), DATP_ERR_MODEL);
	CHECK_EQ_INT(total.srq_set_lw(NULL, 1), DATP_ERR_MODEL);
	CHECK_EQ_INT(total.ep_set_watermark(NULL, 1, 2), DATP_ERR_MODEL);
	CHECK_EQ_INT(total.ep_recv_query(NULL, &n, &n), DATP_ERR_MODEL);
	CHECK_EQ_INT(total.srq_query(NULL, &n), DATP_OK);
	CHECK_EQ_INT(n, -1);
	CHECK_EQ_INT(total.ep_modify(NULL, NULL), DATP_OK);
	CHECK_EQ_INT(total.ep_reset(NULL), DATP_OK);
	CHECK(total.evd_pending(NULL));
	CHECK(!total.evd_arm(NULL, DATP_ARM_CNO, false));
}

static void the_default_sleep_ends_at_its_deadline_or_when_the_bell_has_rung(void)
{
	_Atomic uint32_t bell = 7;
	struct datp_evd evd = { .bell = &bell };
	struct datp_ops total;
	struct timespec now;

	REQUIRE(negotiate(&null_ops, sizeof(null_ops), &total));
	clock_gettime(CLOCK_MONOTONIC, &now);
	CHECK_EQ_INT(total.evd_sleep(&evd, 7, &now), ETIMEDOUT);
	now.tv_sec += 3600;
	CHECK_EQ_INT(total.evd_sleep(&evd, 6, &now), 0);
}

/* ------------------------------------------------------------------ registration */

static void init_registers_the_very_name(void)
{
	const DAT_PROVIDER *table = null_load();

	REQUIRE(table != NULL);
	CHECK_EQ_STR(null_registry.info.ia_name, "null0");
	CHECK_EQ_STR(table->device_name, "null0");
	CHECK(table->ep_post_send_func == null_plugin.fast.post_send);
	null_unload();
	CHECK(null_registry.table == NULL);
}

static void every_slot_of_the_frozen_table_is_filled(void)
{
	const DAT_PROVIDER *table = null_load();

	REQUIRE(table != NULL);
	for (size_t at = offsetof(DAT_PROVIDER, ia_open_func); at < sizeof(*table);
	     at += sizeof(void (*)(void))) {
		void (*slot)(void);

		memcpy(&slot, (const char *)table + at, sizeof(slot));
		CHECK(slot != NULL);
	}
	null_unload();
}

static void init_after_fini_registers_again(void)
{
	for (int i = 0; i < 3; i++) {
		CHECK(null_load() != NULL);
		null_unload();
		CHECK(null_registry.table == NULL);
	}
}

static void a_refused_registration_leaves_nothing_behind(void)
{
	int removes = null_registry.removes;

	null_registry.answer = (DAT_RETURN)DAT_CLASS_ERROR | DAT_PROVIDER_ALREADY_REGISTERED;
	CHECK(null_load() == NULL);
	CHECK_HAS_STR(datp_plugin_why(), "null0");
	null_unload();
	CHECK_EQ_INT(null_registry.removes, removes);
	CHECK(plugin_get("null0", 0) == NULL);
}

static DAT_PROVIDER_INFO info_of(DAT_UINT32 minor, DAT_BOOLEAN thread_safe)
{
	DAT_PROVIDER_INFO info = { .dapl_version_major = 1, .dapl_version_minor = minor,
				   .is_thread_safe = thread_safe };

	strcpy(info.ia_name, "null0");
	return info;
}

/*
 * Opens through a registration's own table. The parameters that the plugin gets show which
 * registration it is.
 */
static void opens_with(const DAT_PROVIDER *table, const char *params, DAT_BOOLEAN thread_safe)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_PROVIDER_ATTR attr;
	DAT_IA_HANDLE ia;
	char name[] = "null0";

	REQUIRE_DAT(table->ia_open_func(name, 8, &async, &ia), DAT_SUCCESS);
	CHECK_EQ_STR(null_counts.params, params);
	CHECK(*(const DAT_PROVIDER **)ia == table);
	CHECK_DAT(table->ia_query_func(ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &attr),
		  DAT_SUCCESS);
	CHECK_EQ_INT(attr.is_thread_safe, thread_safe);
	CHECK_DAT(table->ia_close_func(ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
}

/* Lines of one name that differ only in version or thread safety: each opens its own adapter. */
static void registrations_of_one_name_are_told_apart(void)
{
	const DAT_PROVIDER_INFO infos[] = { info_of(2, DAT_FALSE), info_of(2, DAT_TRUE),
					    info_of(1, DAT_FALSE) };
	static const char *const params[] = { "first", "second", "third" };
	const DAT_PROVIDER *tables[3];

	for (int i = 0; i < 3; i++) {
		datp_plugin_init(&null_plugin, &infos[i], params[i]);
		tables[i] = null_registry.table;
	}
	for (int i = 2; i >= 0; i--)
		opens_with(tables[i], params[i], infos[i].is_thread_safe);
	/* The first is removed and added again, and does not replace another one. */
	null_registry.table = tables[0];
	datp_plugin_fini(&null_plugin, &infos[0]);
	for (int i = 1; i < 3; i++)
		opens_with(tables[i], params[i], infos[i].is_thread_safe);
	datp_plugin_init(&null_plugin, &infos[0], "again");
	tables[0] = null_registry.table;
	opens_with(tables[0], "again", DAT_FALSE);
	for (int i = 0; i < 3; i++) {
		opens_with(tables[i], i ? params[i] : "again", infos[i].is_thread_safe);
		null_registry.table = tables[i];
		datp_plugin_fini(&null_plugin, &infos[i]);
	}
	CHECK(null_registry.table == NULL);
}

static void too_many_registrations_of_one_name_are_refused(void)
{
	const DAT_PROVIDER *tables[PLUGIN_NTHS];
	DAT_PROVIDER_INFO info;

	for (DAT_UINT32 i = 0; i < PLUGIN_NTHS; i++) {
		info = info_of(i, DAT_FALSE);
		datp_plugin_init(&null_plugin, &info, "");
		tables[i] = null_registry.table;
	}
	null_registry.table = NULL;
	info = info_of(PLUGIN_NTHS, DAT_FALSE);
	datp_plugin_init(&null_plugin, &info, "");
	CHECK_HAS_STR(datp_plugin_why(), "16 adapters have this name");
	CHECK(null_registry.table == NULL);
	for (DAT_UINT32 i = 0; i < PLUGIN_NTHS; i++) {
		info = info_of(i, DAT_FALSE);
		null_registry.table = tables[i];
		datp_plugin_fini(&null_plugin, &info);
	}
}

/* libdat still has open IAs of it, so the registration stays, with its number. */
static void a_plugin_that_libdat_keeps_stays_open_to_all(void)
{
	const DAT_PROVIDER *table = null_load();

	REQUIRE(table != NULL);
	null_registry.remove_answer = (DAT_RETURN)DAT_CLASS_ERROR | DAT_PROVIDER_IN_USE;
	check_stderr_begin();
	null_unload();
	CHECK_HAS_STR(check_stderr_end(), "close every IA first");
	opens_with(table, "some params", null_registry.info.is_thread_safe);
	null_unload();
	CHECK(null_registry.table == NULL);
}

static void a_plugin_that_is_open_is_not_forgotten(void)
{
	const DAT_PROVIDER *table = null_load();
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	char name[] = "null0";

	REQUIRE(table != NULL);
	REQUIRE_DAT(table->ia_open_func(name, 8, &async, &ia), DAT_SUCCESS);
	check_stderr_begin();
	null_unload();
	CHECK_HAS_STR(check_stderr_end(), "close every IA first");
	CHECK(null_registry.table == table);
	CHECK_DAT(table->ia_close_func(ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	null_unload();
	CHECK(null_registry.table == NULL);
}

/* Returns what null0 prints while it opens. The caller can then ask for its reason. */
static const char *opening_prints(const DAT_PROVIDER *table, enum datp_err answer)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	char name[] = "null0";
	DAT_RETURN ret;

	null_counts.ia_open_answer = answer;
	check_stderr_begin();
	ret = table->ia_open_func(name, 8, &async, &ia);
	CHECK_DAT(ret, datp_ret(answer));
	if (ret == DAT_SUCCESS)
		table->ia_close_func(ia, DAT_CLOSE_GRACEFUL_FLAG);
	return check_stderr_end();
}

/*
 * The program may only be probing; libdat reports the failure if the program asked for this
 * adapter.
 */
static void an_open_that_fails_prints_nothing_and_keeps_its_reason(void)
{
	const DAT_PROVIDER *table = null_load();

	REQUIRE(table != NULL);
	null_open_says[0] = (struct null_saying){ 2, "null0: a detail" };
	null_open_says[1] = (struct null_saying){ 1, "null0: the cause; the remedy" };
	null_open_says[2] = (struct null_saying){ 1, "null0: what follows from it" };
	CHECK_EQ_STR(opening_prints(table, DATP_ERR_DEVICE), "");
	CHECK_EQ_STR(datp_plugin_why(), "the cause; the remedy");
	/* the next attempt does not have the reason */
	null_open_says[0] = (struct null_saying){ 0, NULL };
	CHECK_EQ_STR(opening_prints(table, DATP_ERR_DEVICE), "");
	CHECK(datp_plugin_why() == NULL);
	null_unload();
}

static void an_open_that_succeeds_prints_its_warnings(void)
{
	const DAT_PROVIDER *table = null_load();

	REQUIRE(table != NULL);
	null_open_says[0] = (struct null_saying){ 2, "null0: slow" };
	null_open_says[1] = (struct null_saying){ 3, "null0: an aside" };
	null_open_says[2] = (struct null_saying){ 0, NULL };
	CHECK_EQ_STR(opening_prints(table, DATP_OK), "libdatp: null0: slow\n");
	CHECK(datp_plugin_why() == NULL);
	null_open_says[0] = (struct null_saying){ 0, NULL };
	null_unload();
}

static void every_internal_error_has_a_dat_value(void)
{
	CHECK_EQ_INT(datp_ret(DATP_OK), DAT_SUCCESS);
	for (int err = 1; err < DATP_ERR_COUNT; err++) {
		/* programs compare the whole value of an empty queue, so it has no class */
		CHECK((datp_ret((enum datp_err)err) & DAT_CLASS_ERROR || err == DATP_ERR_QUEUE_EMPTY));
		CHECK(DAT_GET_TYPE(datp_ret((enum datp_err)err)) != DAT_SUCCESS);
	}
	CHECK_DAT(datp_ret(DATP_ERR_HANDLE_PZ), DAT_INVALID_HANDLE | DAT_INVALID_HANDLE_PZ);
	CHECK_DAT(datp_ret((enum datp_err)9999), DAT_INTERNAL_ERROR);
}

static const struct check_test tests[] = {
	CHECK_TEST(an_open_that_fails_prints_nothing_and_keeps_its_reason),
	CHECK_TEST(an_open_that_succeeds_prints_its_warnings),
	CHECK_TEST(a_sparse_table_becomes_total),
	CHECK_TEST(an_older_plugin_gets_defaults_for_what_it_does_not_know),
	CHECK_TEST(the_tail_of_a_newer_plugin_is_ignored),
	CHECK_TEST(every_pair_of_host_and_plugin_works),
	CHECK_TEST(an_unknown_need_is_refused_by_name),
	CHECK_TEST(a_later_need_asks_for_a_later_libdatp),
	CHECK_TEST(another_major_is_refused),
	CHECK_TEST(a_later_minor_is_served),
	CHECK_TEST(every_missing_required_op_is_named),
	CHECK_TEST(all_missing_ops_are_named_at_once),
	CHECK_TEST(an_object_smaller_than_its_head_is_refused),
	CHECK_TEST(optional_ops_say_that_the_model_is_not_supported),
	CHECK_TEST(the_default_sleep_ends_at_its_deadline_or_when_the_bell_has_rung),
	CHECK_TEST(init_registers_the_very_name),
	CHECK_TEST(every_slot_of_the_frozen_table_is_filled),
	CHECK_TEST(init_after_fini_registers_again),
	CHECK_TEST(a_refused_registration_leaves_nothing_behind),
	CHECK_TEST(registrations_of_one_name_are_told_apart),
	CHECK_TEST(too_many_registrations_of_one_name_are_refused),
	CHECK_TEST(a_plugin_that_libdat_keeps_stays_open_to_all),
	CHECK_TEST(a_plugin_that_is_open_is_not_forgotten),
	CHECK_TEST(every_internal_error_has_a_dat_value),
	CHECK_END
};

static const struct check_suite suite = { .name = "libdatp plugins", .tests = tests };

CHECK_SUITES(&suite);

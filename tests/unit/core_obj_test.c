/* SPDX-License-Identifier: BSD-2-Clause */
/* Handles: which of them are valid, how long, and what happens to the memory behind them. */
#include <pthread.h>
#include <string.h>

#include "check.h"
#include "core_null.h"
#include "providers/common/core/core.h"

static struct datp_ia *ia;
static DAT_EVD_HANDLE async;

static void open_ia(void)
{
	DAT_IA_HANDLE handle;
	char name[] = "null0";

	async = DAT_HANDLE_NULL;
	REQUIRE(null_load() != NULL);
	REQUIRE_DAT(null_registry.table->ia_open_func(name, 8, &async, &handle), DAT_SUCCESS);
	ia = handle;
}

static void close_ia(void)
{
	if (ia)
		CHECK_EQ_INT(ia_close(ia, false), DATP_OK);
	ia = NULL;
	null_unload();
}

struct test_priv {
	uint64_t words[4];
};

static struct datp_obj *make(void)
{
	struct datp_obj *obj = NULL;

	REQUIRE_EQ_INT(obj_alloc(ia, DATP_PZ, sizeof(struct test_priv), 512, &obj), DATP_OK);
	return obj;
}

/*
 * Destroys an object. The transport does not know the objects created here as PZs, so none may be
 * left for ia_close to destroy.
 */
static void unmake(struct datp_obj *obj)
{
	CHECK_EQ_INT(obj_retire(obj, true, DATP_ERR_STATE, DATP_ERR_HANDLE), DATP_OK);
	obj_release(obj);
}

static void an_object_is_invalid_until_published(void)
{
	struct datp_obj *obj = make();

	CHECK(obj_get(ia, obj, DATP_PZ) == NULL);
	CHECK_EQ_INT(obj_publish(obj), DATP_OK);
	CHECK(obj_get(ia, obj, DATP_PZ) == obj);
	CHECK(obj_get(NULL, obj, DATP_PZ) == obj);
	CHECK(datp_object(obj, DATP_PZ) == obj);
	CHECK(obj->vtable == null_registry.table);
	unmake(obj);
}

static void a_freed_handle_is_invalid(void)
{
	struct datp_obj *obj = make();

	CHECK_EQ_INT(obj_publish(obj), DATP_OK);
	unmake(obj);
	CHECK(obj_get(ia, obj, DATP_PZ) == NULL);
	CHECK(datp_object(obj, DATP_PZ) == NULL);
	CHECK_EQ_INT(obj_type(obj), -1);
	CHECK(obj->vtable == NULL);
}

static void a_handle_of_another_type_is_invalid(void)
{
	struct datp_obj *obj = make();

	CHECK_EQ_INT(obj_publish(obj), DATP_OK);
	CHECK_EQ_INT(obj_type(obj), DATP_PZ);
	for (int type = 0; type < DATP_TYPE_COUNT; type++)
		CHECK((obj_get(ia, obj, (enum datp_type)type) != NULL) == (type == DATP_PZ));
	unmake(obj);
}

static void any_number_may_be_asked_about(void)
{
	struct datp_obj *obj = make();
	uint32_t *words = (uint32_t *)(obj + 1);
	int local = 0;

	/* The contents of an object may look like an object. */
	for (size_t i = 0; i < (512 - sizeof(*obj)) / sizeof(*words); i++)
		words[i] = DATP_TAG(DATP_PZ);
	CHECK_EQ_INT(obj_publish(obj), DATP_OK);
	for (uintptr_t at = 1; at < 512; at++)
		CHECK(obj_get(NULL, (char *)obj + at, DATP_PZ) == NULL);
	CHECK(obj_get(NULL, NULL, DATP_PZ) == NULL);
	CHECK(obj_get(NULL, &local, DATP_PZ) == NULL);
	CHECK(obj_get(NULL, (void *)1, DATP_PZ) == NULL);
	CHECK(obj_get(NULL, (void *)UINTPTR_MAX, DATP_PZ) == NULL);
	CHECK(obj_get(NULL, (void *)0xdeadbeefcafe0000, DATP_PZ) == NULL);
	CHECK_EQ_INT(obj_type((void *)0x1000), -1);
	unmake(obj);
}

static void a_handle_of_another_ia_is_invalid(void)
{
	DAT_EVD_HANDLE other_async = DAT_HANDLE_NULL;
	struct datp_obj *obj = make();
	DAT_IA_HANDLE other;
	char name[] = "null0";

	CHECK_EQ_INT(obj_publish(obj), DATP_OK);
	CHECK_DAT(null_registry.table->ia_open_func(name, 8, &other_async, &other), DAT_SUCCESS);
	CHECK(obj_get(other, obj, DATP_PZ) == NULL);
	CHECK(obj_hold(other, obj, DATP_PZ) == NULL);
	CHECK_EQ_INT(ia_close(other, false), DATP_OK);
	unmake(obj);
}

static void a_handle_comes_back_late_and_zeroed(void)
{
	struct datp_obj *first = make(), *obj = first;
	uint32_t gen = first->gen;
	int round = 0;

	do {
		memset(OBJ_PRIV(struct test_priv, obj), 0xff, sizeof(struct test_priv));
		memset(obj + 1, 0xff, 512 - sizeof(*obj));
		obj_release(obj);
		obj = make();
	} while (obj != first && ++round < 100000);
	CHECK(round > 100);
	CHECK(round < 100000);
	CHECK(obj->gen != gen);
	CHECK_EQ_INT(OBJ_PRIV(struct test_priv, obj)->words[3], 0);
	for (size_t i = sizeof(*obj); i < 512; i++)
		CHECK_EQ_INT(((char *)obj)[i], 0);
	obj_release(obj);
}

static void the_limit_of_the_ia_is_kept(void)
{
	struct datp_obj *obj[9];

	for (int i = 0; i < 8; i++)
		obj[i] = make();
	CHECK_EQ_INT(obj_alloc(ia, DATP_PZ, sizeof(struct test_priv), 512, &obj[8]),
		     DATP_ERR_MEMORY);
	obj_release(obj[0]);
	obj[0] = make();
	for (int i = 0; i < 8; i++)
		obj_release(obj[i]);
}

static void what_is_held_is_not_freed(void)
{
	struct datp_obj *obj = make();

	CHECK_EQ_INT(obj_publish(obj), DATP_OK);
	CHECK(obj_hold(ia, obj, DATP_PZ) == obj);
	CHECK_EQ_INT(obj_retire(obj, false, DATP_ERR_STATE_PZ_IN_USE, DATP_ERR_HANDLE_PZ),
		     DATP_ERR_STATE_PZ_IN_USE);
	CHECK(obj_get(ia, obj, DATP_PZ) == obj);
	obj_drop(obj);
	CHECK_EQ_INT(obj_retire(obj, false, DATP_ERR_STATE_PZ_IN_USE, DATP_ERR_HANDLE_PZ), DATP_OK);
	CHECK_EQ_INT(obj_retire(obj, false, DATP_ERR_STATE_PZ_IN_USE, DATP_ERR_HANDLE_PZ),
		     DATP_ERR_HANDLE_PZ);
	CHECK(obj_hold(ia, obj, DATP_PZ) == NULL);
	obj_release(obj);
}

static void the_list_of_an_ia_keeps_its_order(void)
{
	struct datp_obj *a = make(), *b = make(), *c = make();

	CHECK(obj_first(ia, DATP_PZ) == NULL);
	CHECK_EQ_INT(obj_publish(a), DATP_OK);
	CHECK_EQ_INT(obj_publish(b), DATP_OK);
	CHECK_EQ_INT(obj_publish(c), DATP_OK);
	unmake(b);
	CHECK(obj_first(ia, DATP_PZ) == a);
	unmake(a);
	CHECK(obj_first(ia, DATP_PZ) == c);
	unmake(c);
	CHECK(obj_first(ia, DATP_PZ) == NULL);
}

static void nothing_is_published_on_a_closing_ia(void)
{
	struct datp_obj *obj = make();

	ia_priv(ia)->closing = true;
	CHECK_EQ_INT(obj_publish(obj), DATP_ERR_HANDLE_IA);
	ia_priv(ia)->closing = false;
	CHECK(obj_get(ia, obj, DATP_PZ) == NULL);
	obj_release(obj);
}

static void *churn(void *arg)
{
	(void)arg;
	for (int i = 0; i < 2000; i++) {
		struct datp_obj *obj = NULL;

		if (obj_alloc(ia, DATP_LMR, 32, 512, &obj) != DATP_OK ||
		    obj_publish(obj) != DATP_OK || obj_hold(ia, obj, DATP_LMR) != obj)
			return arg;
		obj_drop(obj);
		if (obj_retire(obj, false, DATP_ERR_STATE, DATP_ERR_HANDLE) != DATP_OK)
			return arg;
		obj_release(obj);
	}
	return NULL;
}

static void threads_make_and_free_side_by_side(void)
{
	pthread_t threads[4];
	void *bad;

	for (int i = 0; i < 4; i++)
		REQUIRE_EQ_INT(pthread_create(&threads[i], NULL, churn, ia), 0);
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], &bad);
		CHECK(bad == NULL);
	}
	CHECK_EQ_INT(ia_priv(ia)->live[DATP_LMR].count, 0);
	CHECK(obj_first(ia, DATP_LMR) == NULL);
}

static const struct check_test tests[] = { CHECK_TEST(an_object_is_invalid_until_published),
					   CHECK_TEST(a_freed_handle_is_invalid),
					   CHECK_TEST(a_handle_of_another_type_is_invalid),
					   CHECK_TEST(any_number_may_be_asked_about),
					   CHECK_TEST(a_handle_of_another_ia_is_invalid),
					   CHECK_TEST(a_handle_comes_back_late_and_zeroed),
					   CHECK_TEST(the_limit_of_the_ia_is_kept),
					   CHECK_TEST(what_is_held_is_not_freed),
					   CHECK_TEST(the_list_of_an_ia_keeps_its_order),
					   CHECK_TEST(nothing_is_published_on_a_closing_ia),
					   CHECK_TEST(threads_make_and_free_side_by_side),
					   CHECK_END };

static const struct check_suite suite = {
	.name = "libdatp objects", .setup = open_ia, .teardown = close_ia, .tests = tests
};

CHECK_SUITES(&suite);

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A call that asks for more than the adapter's limit. It is refused, and a warning, which is printed by default, names the
 * attribute, the number asked for, the limit, and the attribute of the adapter that has it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"

/* An EVD, an SRQ and an endpoint within the limits, to be resized and modified. */
static DAT_EVD_HANDLE evd;
static DAT_SRQ_HANDLE srq;
static DAT_EP_HANDLE ep;

static void setup(void)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 4, .max_recv_iov = 1, .low_watermark = DAT_SRQ_LW_DEFAULT };

	unsetenv("DAT_LOG");
	api_open();
	evd = api_evd(8, DAT_EVD_DTO_FLAG);
	REQUIRE_DAT(dat_ep_create(api.ia, api.pz, DAT_HANDLE_NULL, DAT_HANDLE_NULL, DAT_HANDLE_NULL, NULL, &ep),
		    DAT_SUCCESS);
	srq = DAT_HANDLE_NULL;
	if (api.prov.srq_supported)
		REQUIRE_DAT(dat_srq_create(api.ia, api.pz, &attr, &srq), DAT_SUCCESS);
}

static void teardown(void)
{
	if (srq != DAT_HANDLE_NULL)
		dat_srq_free(srq);
	dat_ep_free(ep);
	api_close();
}

static void setup_srq(void)
{
	setup();
	if (srq == DAT_HANDLE_NULL)
		check_skip("the provider has no SRQs");
}

/* The number that the next call asks for. */
static DAT_COUNT above(DAT_COUNT limit)
{
	if (limit == INT32_MAX)
		check_skip("no number is above this limit");
	check_stderr_begin();
	return limit + 1;
}

static void named(DAT_RETURN ret, const char *object, const char *name, DAT_COUNT limit, const char *limit_name)
{
	const char *text = check_stderr_end();
	char words[256];

	CHECK_DAT(ret, DAT_INVALID_PARAMETER);
	snprintf(words, sizeof(words), ": no %s with %s %d: the adapter has a limit of %d (%s)", object, name, limit + 1,
		 limit, limit_name);
	CHECK_HAS_STR(text, words);
}

static void evd_beyond_the_limit_is_named(void)
{
	DAT_COUNT limit = api.attr.max_evd_qlen;
	DAT_EVD_HANDLE none;

	named(dat_evd_create(api.ia, above(limit), DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &none), "EVD", "evd_min_qlen", limit,
	      "max_evd_qlen");
}

static void resize_of_an_evd_beyond_the_limit_is_named(void)
{
	DAT_COUNT limit = api.attr.max_evd_qlen;

	named(dat_evd_resize(evd, above(limit)), "EVD", "evd_min_qlen", limit, "max_evd_qlen");
}

static void async_evd_of_an_open_beyond_the_limit_is_named(void)
{
	DAT_COUNT limit = api.attr.max_evd_qlen;
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	named(dat_ia_open(api_ia_name(), above(limit), &async, &ia), "EVD", "evd_min_qlen", limit, "max_evd_qlen");
}

static void srq_beyond_the_limit_is_named(void)
{
	DAT_COUNT limit = api.attr.max_recv_per_srq;
	DAT_SRQ_ATTR attr = { .max_recv_iov = 1, .low_watermark = DAT_SRQ_LW_DEFAULT };
	DAT_SRQ_HANDLE none;

	attr.max_recv_dtos = above(limit);
	named(dat_srq_create(api.ia, api.pz, &attr, &none), "SRQ", "max_recv_dtos", limit, "max_recv_per_srq");
}

static void segments_of_an_srq_beyond_the_limit_are_named(void)
{
	DAT_COUNT limit = api.attr.max_iov_segments_per_dto;
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 4, .low_watermark = DAT_SRQ_LW_DEFAULT };
	DAT_SRQ_HANDLE none;

	attr.max_recv_iov = above(limit);
	named(dat_srq_create(api.ia, api.pz, &attr, &none), "SRQ", "max_recv_iov", limit, "max_iov_segments_per_dto");
}

static void resize_of_an_srq_beyond_the_limit_is_named(void)
{
	DAT_COUNT limit = api.attr.max_recv_per_srq;

	named(dat_srq_resize(srq, above(limit)), "SRQ", "max_recv_dtos", limit, "max_recv_per_srq");
}

static void endpoint_beyond_the_limit_is_named(void)
{
	DAT_COUNT limit = api.attr.max_dto_per_ep;
	DAT_EP_ATTR attr = { .max_message_size = 64 };
	DAT_EP_HANDLE none;

	attr.max_recv_dtos = above(limit);
	named(dat_ep_create(api.ia, api.pz, DAT_HANDLE_NULL, DAT_HANDLE_NULL, DAT_HANDLE_NULL, &attr, &none), "endpoint",
	      "max_recv_dtos", limit, "max_dto_per_ep");
}

static void modified_endpoint_beyond_the_limit_is_named(void)
{
	DAT_COUNT limit = api.attr.max_dto_per_ep;
	DAT_EP_PARAM param = { 0 };

	param.ep_attr.max_request_dtos = above(limit);
	named(dat_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS, &param), "endpoint", "max_request_dtos", limit,
	      "max_dto_per_ep");
}

/* Programs try numbers until one is accepted, so each is named once. A wrong number is the programmer's error. */
static void same_number_is_named_once_and_a_wrong_one_never(void)
{
	DAT_COUNT limit = api.attr.max_evd_qlen;
	DAT_EVD_HANDLE none;

	named(dat_evd_create(api.ia, above(limit), DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &none), "EVD", "evd_min_qlen", limit,
	      "max_evd_qlen");
	check_stderr_begin();
	CHECK_DAT(dat_evd_create(api.ia, limit + 1, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &none), DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_evd_create(api.ia, 0, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &none), DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_evd_resize(evd, -1), DAT_INVALID_PARAMETER);
	CHECK_EQ_STR(check_stderr_end(), "");
}

static const struct check_test limit_tests[] = {
	CHECK_TEST(evd_beyond_the_limit_is_named),
	CHECK_TEST(resize_of_an_evd_beyond_the_limit_is_named),
	CHECK_TEST(async_evd_of_an_open_beyond_the_limit_is_named),
	CHECK_TEST(endpoint_beyond_the_limit_is_named),
	CHECK_TEST(modified_endpoint_beyond_the_limit_is_named),
	CHECK_TEST(same_number_is_named_once_and_a_wrong_one_never),
	CHECK_END
};

static const struct check_test srq_tests[] = {
	CHECK_TEST(srq_beyond_the_limit_is_named),
	CHECK_TEST(segments_of_an_srq_beyond_the_limit_are_named),
	CHECK_TEST(resize_of_an_srq_beyond_the_limit_is_named),
	CHECK_END
};

static const struct check_suite limit = { .name = "limit", .setup = setup, .teardown = teardown, .tests = limit_tests };
static const struct check_suite srq_limit = {
	.name = "limit of an SRQ", .setup = setup_srq, .teardown = teardown, .tests = srq_tests,
};

CHECK_SUITES(&limit, &srq_limit);

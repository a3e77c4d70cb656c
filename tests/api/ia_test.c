/* SPDX-License-Identifier: BSD-2-Clause */
/* IAs: open, query, close; consumer contexts, handle types, and the texts of return codes. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "api.h"

/* One object of every type. */
struct zoo {
	DAT_CNO_HANDLE cno;
	struct api_end end, reserved, active;
	struct api_buf buf;
	DAT_RMR_HANDLE rmr;
	DAT_EVD_HANDLE cr_evd;
	DAT_PSP_HANDLE psp;
	DAT_RSP_HANDLE rsp;
	DAT_SRQ_HANDLE srq;
	DAT_CR_HANDLE cr;
};

static void zoo_make(struct zoo *zoo)
{
	DAT_SRQ_ATTR srq_attr = { .max_recv_dtos = 4, .max_recv_iov = 1 };
	DAT_CONN_QUAL qual, spare;

	zoo->cno = api_cno();
	api_end_make(&zoo->end, NULL);
	api_end_make(&zoo->reserved, NULL);
	api_end_make(&zoo->active, NULL);
	zoo->buf = api_buf(4096, DAT_MEM_PRIV_ALL_FLAG);
	REQUIRE_DAT(dat_rmr_create(api.pz, &zoo->rmr), DAT_SUCCESS);
	zoo->cr_evd = api_evd(8, DAT_EVD_CR_FLAG);
	zoo->psp = api_listen(zoo->cr_evd, DAT_PSP_CONSUMER_FLAG, &qual);
	REQUIRE_DAT(dat_psp_free(api_listen(zoo->cr_evd, DAT_PSP_CONSUMER_FLAG, &spare)),
		    DAT_SUCCESS);
	REQUIRE_DAT(dat_rsp_create(api.ia, spare, zoo->reserved.ep, zoo->cr_evd, &zoo->rsp),
		    DAT_SUCCESS);
	if (api.prov.srq_supported)
		REQUIRE_DAT(dat_srq_create(api.ia, api.pz, &srq_attr, &zoo->srq), DAT_SUCCESS);
	REQUIRE_DAT(api_connect(zoo->active.ep, qual), DAT_SUCCESS);
	zoo->cr = api_cr(zoo->cr_evd);
}

struct typed {
	DAT_HANDLE handle;
	DAT_HANDLE_TYPE type;
};

static int zoo_list(const struct zoo *zoo, struct typed list[16])
{
	struct typed all[] = {
		{ api.ia, DAT_HANDLE_TYPE_IA },	       { api.async, DAT_HANDLE_TYPE_EVD },
		{ api.pz, DAT_HANDLE_TYPE_PZ },	       { zoo->cno, DAT_HANDLE_TYPE_CNO },
		{ zoo->end.ep, DAT_HANDLE_TYPE_EP },   { zoo->end.recv, DAT_HANDLE_TYPE_EVD },
		{ zoo->buf.lmr, DAT_HANDLE_TYPE_LMR }, { zoo->rmr, DAT_HANDLE_TYPE_RMR },
		{ zoo->psp, DAT_HANDLE_TYPE_PSP },     { zoo->rsp, DAT_HANDLE_TYPE_RSP },
		{ zoo->cr, DAT_HANDLE_TYPE_CR },       { zoo->srq, DAT_HANDLE_TYPE_SRQ },
	};
	int count = (int)(sizeof(all) / sizeof(*all));

	memcpy(list, all, sizeof(all));
	return api.prov.srq_supported ? count : count - 1; /* the SRQ is the last */
}

static void handle_type_is_told_for_every_type(void)
{
	struct typed list[16];
	struct zoo zoo;
	int count;

	zoo_make(&zoo);
	count = zoo_list(&zoo, list);
	for (int i = 0; i < count; i++) {
		DAT_HANDLE_TYPE type = (DAT_HANDLE_TYPE)-1;

		CHECK_DAT(dat_get_handle_type(list[i].handle, &type), DAT_SUCCESS);
		CHECK_EQ_INT(type, list[i].type);
	}
	CHECK(dat_get_handle_type(zoo.end.ep, NULL) != DAT_SUCCESS);
}

static void every_object_carries_one_context(void)
{
	static const uint64_t values[] = { 1, 0xdeadbeefcafef00d, UINT64_MAX, 0 };
	struct typed list[16];
	struct zoo zoo;
	int count;

	zoo_make(&zoo);
	count = zoo_list(&zoo, list);
	for (int i = 0; i < count; i++) {
		DAT_CONTEXT context = { .as_64 = 0xa5 };

		CHECK_DAT(dat_get_consumer_context(list[i].handle, &context), DAT_SUCCESS);
		CHECK_EQ_INT(context.as_64, 0);
		for (int v = 0; v < 4; v++) {
			context.as_64 = values[v] + (v == 0 ? (uint64_t)i : 0);
			CHECK_DAT(dat_set_consumer_context(list[i].handle, context), DAT_SUCCESS);
			context.as_64 = 0xa5;
			CHECK_DAT(dat_get_consumer_context(list[i].handle, &context), DAT_SUCCESS);
			CHECK_EQ_INT(context.as_64, values[v] + (v == 0 ? (uint64_t)i : 0));
		}
		context.as_64 = 100 + (uint64_t)i;
		CHECK_DAT(dat_set_consumer_context(list[i].handle, context), DAT_SUCCESS);
	}
	for (int i = 0; i < count; i++) {
		DAT_CONTEXT context;

		CHECK_DAT(dat_get_consumer_context(list[i].handle, &context), DAT_SUCCESS);
		CHECK_EQ_INT(context.as_64, 100 + i);
	}
}

static void open_makes_an_async_evd(void)
{
	DAT_EVD_PARAM param;

	CHECK(api.async != DAT_HANDLE_NULL);
	REQUIRE_DAT(dat_evd_query(api.async, DAT_EVD_FIELD_ALL, &param), DAT_SUCCESS);
	CHECK(param.evd_flags & DAT_EVD_ASYNC_FLAG);
	CHECK(param.evd_qlen >= 8);
	CHECK(param.cno_handle == DAT_HANDLE_NULL);
}

static void open_refuses_bad_arguments(void)
{
	char longest[DAT_NAME_MAX_LENGTH + 2];
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	memset(longest, 'x', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	CHECK_DAT(dat_ia_open(NULL, 8, &async, &ia), DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_ia_open(longest, 8, &async, &ia), DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_ia_open(api_ia_name(), 0, &async, &ia), DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_ia_open(api_ia_name(), -1, &async, &ia), DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_ia_open(api_ia_name(), 8, NULL, &ia), DAT_INVALID_PARAMETER);
	CHECK(dat_ia_open(api_ia_name(), 8, &async, NULL) != DAT_SUCCESS);
	CHECK(async == DAT_HANDLE_NULL);
}

static void unknown_name_is_exactly_provider_not_found(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	char name[] = "no-such-adapter";
	DAT_IA_HANDLE ia;

	CHECK_DAT(dat_ia_open(name, 8, &async, &ia), DAT_PROVIDER_NOT_FOUND);
	CHECK(async == DAT_HANDLE_NULL);
}

static void wrong_version_is_not_found_and_a_lower_minor_is(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	CHECK_DAT(dat_ia_openv(api_ia_name(), 8, &async, &ia, 9, 0, DAT_FALSE),
		  DAT_PROVIDER_NOT_FOUND);
	CHECK_DAT(dat_ia_openv(api_ia_name(), 8, &async, &ia, 1, 99, DAT_FALSE),
		  DAT_PROVIDER_NOT_FOUND);
	REQUIRE_DAT(dat_ia_openv(api_ia_name(), 8, &async, &ia, 1, 1, DAT_FALSE), DAT_SUCCESS);
	CHECK_DAT(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
}

static void opens_are_instances_of_their_own(void)
{
	DAT_IA_HANDLE other = api_open_another();
	DAT_EVD_HANDLE evd = api_evd(8, DAT_EVD_SOFTWARE_FLAG);

	CHECK(other != api.ia);
	CHECK_DAT(dat_ia_close(other, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	REQUIRE_DAT(api_post_se(evd, 1), DAT_SUCCESS);
	API_SE(evd, 1);
	CHECK_DAT(dat_ia_close(other, DAT_CLOSE_ABRUPT_FLAG), DAT_INVALID_HANDLE);
}

static void async_evd_of_the_consumer_is_shared_and_survives(void)
{
	DAT_EVD_HANDLE async = api.async, told;
	DAT_IA_HANDLE other;
	DAT_EVD_PARAM param;

	REQUIRE_DAT(dat_ia_open(api_ia_name(), 1000000000, &async, &other), DAT_SUCCESS);
	CHECK(async == api.async);
	REQUIRE_DAT(
		dat_ia_query(other, &told, DAT_IA_FIELD_NONE, NULL, DAT_PROVIDER_FIELD_NONE, NULL),
		DAT_SUCCESS);
	CHECK(told == api.async);
	CHECK_DAT(dat_ia_close(other, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	CHECK_DAT(dat_evd_query(api.async, DAT_EVD_FIELD_ALL, &param), DAT_SUCCESS);
	API_EMPTY(api.async);
}

static void async_exists_opens_without_an_evd(void)
{
	DAT_EVD_HANDLE async = DAT_EVD_ASYNC_EXISTS, told = DAT_HANDLE_NULL;
	DAT_IA_HANDLE other;

	REQUIRE_DAT(dat_ia_open(api_ia_name(), 8, &async, &other), DAT_SUCCESS);
	CHECK_DAT(
		dat_ia_query(other, &told, DAT_IA_FIELD_NONE, NULL, DAT_PROVIDER_FIELD_NONE, NULL),
		DAT_SUCCESS);
	CHECK(told == async);
	CHECK_DAT(dat_ia_close(other, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
}

static void async_evd_that_is_none_is_refused(void)
{
	DAT_EVD_HANDLE async = api.pz;
	DAT_IA_HANDLE other;

	CHECK_DAT(dat_ia_open(api_ia_name(), 8, &async, &other), DAT_INVALID_HANDLE);
	CHECK(async == api.pz);
}

static void query_takes_masks_of_nothing(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;

	CHECK_DAT(dat_ia_query(api.ia, &async, DAT_IA_FIELD_NONE, NULL, DAT_PROVIDER_FIELD_NONE,
			       NULL),
		  DAT_SUCCESS);
	CHECK(async == api.async);
	CHECK_DAT(
		dat_ia_query(api.ia, NULL, DAT_IA_FIELD_NONE, NULL, DAT_PROVIDER_FIELD_NONE, NULL),
		DAT_SUCCESS);
}

static void query_refuses_bad_masks_and_no_memory(void)
{
	DAT_PROVIDER_ATTR prov;
	DAT_IA_ATTR attr;

	CHECK_DAT(dat_ia_query(api.ia, NULL, DAT_IA_FIELD_IA_MAX_EPS, NULL, 0, NULL),
		  DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_ia_query(api.ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, NULL),
		  DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_ia_query(api.ia, NULL, DAT_IA_FIELD_ALL + 1, &attr, 0, NULL),
		  DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_ia_query(api.ia, NULL, ~UINT64_C(0), &attr, 0, NULL), DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_ia_query(api.ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL + 1, &prov),
		  DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_ia_query(api.ia, NULL, 0, NULL, ~UINT64_C(0), &prov), DAT_INVALID_PARAMETER);
}

static void each_single_mask_bit_is_answered(void)
{
	DAT_PROVIDER_ATTR prov;
	DAT_IA_ATTR attr;

	for (uint64_t bit = 1; bit <= DAT_IA_FIELD_ALL; bit <<= 1)
		CHECK_DAT(dat_ia_query(api.ia, NULL, bit, &attr, 0, NULL), DAT_SUCCESS);
	for (uint64_t bit = 1; bit <= DAT_PROVIDER_FIELD_ALL; bit <<= 1)
		CHECK_DAT(dat_ia_query(api.ia, NULL, 0, NULL, bit, &prov), DAT_SUCCESS);
	REQUIRE_DAT(dat_ia_query(api.ia, NULL, DAT_IA_FIELD_IA_ADAPTER_NAME, &attr, 0, NULL),
		    DAT_SUCCESS);
	CHECK_EQ_STR(attr.adapter_name, api_ia_name());
	REQUIRE_DAT(dat_ia_query(api.ia, NULL, DAT_IA_FIELD_IA_MAX_EPS, &attr, 0, NULL),
		    DAT_SUCCESS);
	CHECK_EQ_INT(attr.max_eps, api.attr.max_eps);
}

static void ia_attributes_make_sense(void)
{
	const DAT_IA_ATTR *a = &api.attr;

	CHECK_EQ_STR(a->adapter_name, api_ia_name());
	CHECK(strnlen(a->vendor_name, sizeof(a->vendor_name)) < sizeof(a->vendor_name));
	CHECK(a->max_eps > 0 && a->max_dto_per_ep > 0 && a->max_evds > 0 && a->max_evd_qlen > 0);
	CHECK(a->max_rdma_read_per_ep_in > 0 && a->max_rdma_read_per_ep_out > 0);
	CHECK(a->max_iov_segments_per_dto > 0 && a->max_lmrs > 0 && a->max_pzs > 0 &&
	      a->max_rmrs > 0);
	CHECK(a->max_lmr_block_size > 0 && a->max_lmr_virtual_address > 0);
	CHECK(a->max_message_size > 0 && a->max_rdma_size > 0 && a->max_rmr_target_address > 0);
	if (api.prov.srq_supported)
		CHECK(a->max_srqs > 0 && a->max_ep_per_srq > 0 && a->max_recv_per_srq > 0);
	CHECK(a->max_iov_segments_per_rdma_read > 0 && a->max_iov_segments_per_rdma_write > 0);
	REQUIRE(a->num_transport_attr >= 0 && a->num_vendor_attr >= 0);
	for (int i = 0; i < a->num_transport_attr; i++)
		CHECK(a->transport_attr[i].name && a->transport_attr[i].value);
	for (int i = 0; i < a->num_vendor_attr; i++)
		CHECK(a->vendor_attr[i].name && a->vendor_attr[i].value);
}

static void address_is_ipv4_and_stays_valid(void)
{
	struct sockaddr_in first, later;
	DAT_IA_ATTR again;

	REQUIRE(api_address() != NULL);
	memcpy(&first, api_address(), sizeof(first));
	CHECK_EQ_INT(first.sin_family, AF_INET);
	REQUIRE_DAT(dat_ia_query(api.ia, NULL, DAT_IA_FIELD_ALL, &again, 0, NULL), DAT_SUCCESS);
	memcpy(&later, api_address(), sizeof(later));
	CHECK_EQ_MEM(&later, &first, sizeof(first));
	memcpy(&later, again.ia_address_ptr, sizeof(later));
	CHECK_EQ_INT(later.sin_addr.s_addr, first.sin_addr.s_addr);
}

static void provider_attributes_make_sense(void)
{
	const DAT_PROVIDER_ATTR *p = &api.prov;

	CHECK(p->provider_name[0] != '\0');
	CHECK_EQ_INT(p->dapl_version_major, 1);
	CHECK(p->dapl_version_minor >= 2);
	CHECK(p->max_private_data_size >= 64);
	CHECK(p->iov_ownership_on_return <= DAT_IOV_PROVIDER_MOD);
	CHECK((p->lmr_mem_types_supported & (DAT_MEM_TYPE_LMR | DAT_MEM_TYPE_SHARED_VIRTUAL)) ==
	      (DAT_MEM_TYPE_LMR | DAT_MEM_TYPE_SHARED_VIRTUAL));
	CHECK((p->completion_flags_supported & 0xf) == 0xf);
	REQUIRE(p->optimal_buffer_alignment > 0);
	CHECK_EQ_INT(DAT_OPTIMAL_ALIGNMENT % p->optimal_buffer_alignment, 0);
	CHECK(p->ep_creator <= DAT_PSP_CREATES_EP_ALWAYS);
	CHECK(p->pz_support <= DAT_PZ_SHAREABLE);
	REQUIRE(p->num_provider_specific_attr >= 0);
	for (int i = 0; i < p->num_provider_specific_attr; i++)
		CHECK(p->provider_specific_attr[i].name && p->provider_specific_attr[i].value);
}

static void instances_report_the_same_limits(void)
{
	DAT_IA_HANDLE other = api_open_another();
	DAT_IA_ATTR attr;

	REQUIRE_DAT(dat_ia_query(other, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL), DAT_SUCCESS);
	CHECK_EQ_INT(attr.max_eps, api.attr.max_eps);
	CHECK_EQ_INT(attr.max_evd_qlen, api.attr.max_evd_qlen);
	CHECK_EQ_INT(attr.max_message_size, api.attr.max_message_size);
	CHECK_EQ_INT(attr.max_dto_per_ep, api.attr.max_dto_per_ep);
	CHECK_EQ_STR(attr.adapter_name, api.attr.adapter_name);
}

/* Checks that a graceful close is refused and changes nothing. */
static void refuse_close(void)
{
	DAT_EVD_PARAM param;

	CHECK_DAT(dat_ia_close(api.ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_STATE);
	CHECK_DAT(dat_evd_query(api.async, DAT_EVD_FIELD_ALL, &param), DAT_SUCCESS);
}

static void graceful_close_is_refused_while_an_object_is_left(void)
{
	DAT_SRQ_ATTR srq_attr = { .max_recv_dtos = 4, .max_recv_iov = 1 };
	DAT_PZ_HANDLE pz = api.pz;
	DAT_EVD_HANDLE evd;
	DAT_CNO_HANDLE cno;
	DAT_RMR_HANDLE rmr;
	DAT_SRQ_HANDLE srq;
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp;
	struct api_end end;
	struct api_buf buf;

	refuse_close(); /* a PZ */
	buf = api_buf(4096, DAT_MEM_PRIV_ALL_FLAG);
	refuse_close();
	CHECK_DAT(dat_lmr_free(buf.lmr), DAT_SUCCESS);
	REQUIRE_DAT(dat_rmr_create(pz, &rmr), DAT_SUCCESS);
	refuse_close();
	CHECK_DAT(dat_rmr_free(rmr), DAT_SUCCESS);
	if (api.prov.srq_supported) {
		REQUIRE_DAT(dat_srq_create(api.ia, pz, &srq_attr, &srq), DAT_SUCCESS);
		refuse_close();
		CHECK_DAT(dat_srq_free(srq), DAT_SUCCESS);
	}
	api_end_make(&end, NULL);
	refuse_close();
	api_end_free(&end);
	CHECK_DAT(dat_pz_free(pz), DAT_SUCCESS);
	cno = api_cno();
	refuse_close();
	CHECK_DAT(dat_cno_free(cno), DAT_SUCCESS);
	evd = api_evd(8, DAT_EVD_CR_FLAG);
	refuse_close();
	psp = api_listen(evd, DAT_PSP_CONSUMER_FLAG, &qual);
	refuse_close();
	CHECK_DAT(dat_psp_free(psp), DAT_SUCCESS);
	CHECK_DAT(dat_evd_free(evd), DAT_SUCCESS);
	CHECK_DAT(dat_ia_close(api.ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	CHECK_DAT(dat_ia_close(api.ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_HANDLE);
	CHECK_DAT(dat_evd_free(api.async), DAT_INVALID_HANDLE);
	api.ia = DAT_HANDLE_NULL;
}

static void close_refuses_bad_flags(void)
{
	CHECK_DAT(dat_ia_close(api.ia, (DAT_CLOSE_FLAGS)2), DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_ia_close(api.ia, (DAT_CLOSE_FLAGS)-1), DAT_INVALID_PARAMETER);
	CHECK_EQ_INT(DAT_CLOSE_DEFAULT, DAT_CLOSE_ABRUPT_FLAG);
}

static void abrupt_close_takes_everything_again_and_again(void)
{
	for (int i = 0; i < 20; i++) {
		struct zoo zoo;

		zoo_make(&zoo);
		api_close();
		api_open();
	}
}

static void objects_of_two_instances_do_not_mix(void)
{
	DAT_IA_HANDLE other = api_open_another();
	DAT_EVD_HANDLE evd =
		api_evd(8, DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG | DAT_EVD_CR_FLAG);
	DAT_PZ_HANDLE pz = DAT_HANDLE_NULL;
	DAT_REGION_DESCRIPTION region = { .for_va = api_memory(4096) };
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
	DAT_PSP_HANDLE psp;
	DAT_LMR_HANDLE lmr;
	DAT_VADDR address;
	DAT_EP_HANDLE ep;
	DAT_CONN_QUAL q;
	DAT_VLEN size;

	REQUIRE_DAT(dat_pz_create(other, &pz), DAT_SUCCESS);
	CHECK(dat_ep_create(api.ia, pz, evd, evd, evd, NULL, &ep) != DAT_SUCCESS);
	CHECK(dat_ep_create(other, pz, evd, evd, evd, NULL, &ep) != DAT_SUCCESS);
	CHECK(dat_lmr_create(api.ia, DAT_MEM_TYPE_VIRTUAL, region, 4096, pz, DAT_MEM_PRIV_ALL_FLAG,
			     &lmr, &lmr_context, &rmr_context, &size, &address) != DAT_SUCCESS);
	CHECK(dat_psp_create_any(other, &q, evd, DAT_PSP_CONSUMER_FLAG, &psp) != DAT_SUCCESS);
}

/* Two instances of one process connect like any two adapters. */
static void two_instances_of_one_process_connect(void)
{
	DAT_IA_HANDLE first = api.ia, second = api_open_another();
	DAT_PZ_HANDLE pz = api.pz;
	struct api_buf here = api_buf(1 << 20, DAT_MEM_PRIV_ALL_FLAG), there;
	DAT_EVD_HANDLE cr_evd;
	struct api_end a, b;
	DAT_CONN_QUAL qual;

	api_end_make(&a, NULL);
	api.ia = second;
	api.pz = api_pz();
	api_end_make(&b, NULL);
	there = api_buf(1 << 20, DAT_MEM_PRIV_ALL_FLAG);
	cr_evd = api_evd(8, DAT_EVD_CR_FLAG);
	api_listen(cr_evd, DAT_PSP_CONSUMER_FLAG, &qual);
	api.ia = first;
	api.pz = pz;
	REQUIRE_DAT(api_recv(b.ep, &there, 0, 500000, 1), DAT_SUCCESS);
	REQUIRE_DAT(api_connect(a.ep, qual), DAT_SUCCESS);
	REQUIRE_DAT(dat_cr_accept(api_cr(cr_evd), b.ep, 0, NULL), DAT_SUCCESS);
	API_CONN(a.connect, a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	API_CONN(b.connect, b.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	api_fill(here.mem, 500000, 2);
	REQUIRE_DAT(api_send(a.ep, &here, 0, 500000, 2, 0), DAT_SUCCESS);
	API_DTO(b.recv, b.ep, 1, DAT_DTO_SUCCESS, 500000);
	API_DTO(a.request, a.ep, 2, DAT_DTO_SUCCESS, 500000);
	CHECK_EQ_INT(api_mismatch(there.mem, 500000, 2), -1);
	REQUIRE_DAT(
		api_write(b.ep, api_seg(&there, 0, 1000), api_target(&here, 600000, 1000), 3, 0),
		DAT_SUCCESS);
	API_DTO(b.request, b.ep, 3, DAT_DTO_SUCCESS, 1000);
	/* over iWARP a write completes when it has been sent */
	CHECK_SOON(api_mismatch(here.mem + 600000, 1000, 2) == -1);
	CHECK_DAT(dat_ia_close(second, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	API_CONN_OVER(a.connect, a.ep);
}

static void strerror_names_every_type_and_subtype(void)
{
	for (DAT_UINT32 type = DAT_SUCCESS; type <= DAT_CONN_QUAL_UNAVAILABLE; type += 0x10000) {
		for (DAT_UINT32 sub = 0; sub <= DAT_THREAD_SAFETY_NOT_FOUND; sub++) {
			DAT_UINT32 code = type | sub | (type ? DAT_CLASS_ERROR : 0);
			const char *major = NULL, *minor = NULL;

			CHECK_DAT(dat_strerror(code, &major, &minor), DAT_SUCCESS);
			CHECK(major && *major && minor);
		}
	}
}

static void strerror_tells_types_apart_and_refuses_unknown_ones(void)
{
	const char *one = NULL, *two = NULL, *minor = NULL;

	REQUIRE_DAT(dat_strerror(DAT_CLASS_ERROR | DAT_ABORT, &one, &minor), DAT_SUCCESS);
	REQUIRE_DAT(dat_strerror(DAT_CLASS_ERROR | DAT_QUEUE_EMPTY, &two, &minor), DAT_SUCCESS);
	CHECK(strcmp(one, two) != 0);
	CHECK_DAT(dat_strerror(DAT_NOT_IMPLEMENTED, &one, &minor), DAT_SUCCESS);
	CHECK_DAT(dat_strerror(DAT_CLASS_ERROR | 0x2ff00000, &one, &minor), DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_strerror(DAT_SUCCESS, &one, &minor), DAT_SUCCESS);
}

static const struct check_test tests[] = {
	CHECK_TEST(handle_type_is_told_for_every_type),
	CHECK_TEST(every_object_carries_one_context),
	CHECK_TEST(open_makes_an_async_evd),
	CHECK_TEST(open_refuses_bad_arguments),
	CHECK_TEST(unknown_name_is_exactly_provider_not_found),
	CHECK_TEST(wrong_version_is_not_found_and_a_lower_minor_is),
	CHECK_TEST(opens_are_instances_of_their_own),
	CHECK_TEST(async_evd_of_the_consumer_is_shared_and_survives),
	CHECK_TEST(async_exists_opens_without_an_evd),
	CHECK_TEST(async_evd_that_is_none_is_refused),
	CHECK_TEST(query_takes_masks_of_nothing),
	CHECK_TEST(query_refuses_bad_masks_and_no_memory),
	CHECK_TEST(each_single_mask_bit_is_answered),
	CHECK_TEST(ia_attributes_make_sense),
	CHECK_TEST(address_is_ipv4_and_stays_valid),
	CHECK_TEST(provider_attributes_make_sense),
	CHECK_TEST(instances_report_the_same_limits),
	CHECK_TEST(graceful_close_is_refused_while_an_object_is_left),
	CHECK_TEST(close_refuses_bad_flags),
	CHECK_TEST(abrupt_close_takes_everything_again_and_again),
	CHECK_TEST(objects_of_two_instances_do_not_mix),
	CHECK_TEST(two_instances_of_one_process_connect),
	CHECK_TEST(strerror_names_every_type_and_subtype),
	CHECK_TEST(strerror_tells_types_apart_and_refuses_unknown_ones),
	CHECK_END
};

static const struct check_suite ia = {
	.name = "ia",
	.setup = api_open,
	.teardown = api_close,
	.tests = tests,
};

CHECK_SUITES(&ia);

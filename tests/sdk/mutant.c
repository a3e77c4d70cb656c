/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The template with one change, which the name of the adapter selects. zero_FIELD leaves that attribute at
 * 0; the others have the name of the duty that they break. With any other name it is the template unchanged.
 */
#include <datp/provider.h>

#undef DATP_PROVIDER
#define DATP_PROVIDER(name, ops)
#include "sdk/template/template.c"

static bool is(const struct datp_ia *ia, const char *mutation)
{
	return !strcmp(ia->name, mutation);
}

static enum datp_err mutant_ia_open(struct datp_ia *ia, const char *params)
{
	enum datp_err err = my_ia_open(ia, params);

	if (is(ia, "no_address"))
		ia->address.ss_family = AF_UNSPEC;
	if (is(ia, "any_address"))
		((struct sockaddr_in *)&ia->address)->sin_addr.s_addr = htonl(INADDR_ANY);
	return err;
}

/* Attributes that contradict each other, or that need ops which the template lacks. */
static void contradict(const struct datp_ia *ia, struct datp_ia_attr *attr)
{
	if (is(ia, "odd_alignment"))
		attr->optimal_alignment = 24;
	if (is(ia, "block_above_address"))
		attr->max_lmr_address = 4096;
	if (is(ia, "attr_missing"))
		attr->transport_attr = NULL;
	if (is(ia, "attr_negative"))
		attr->provider_attr_count = -1;
	if (is(ia, "rmrs_nowhere") || is(ia, "rmrs_without_ops"))
		attr->max_rmrs = 8;
	if (is(ia, "rmrs_without_ops"))
		attr->max_rmr_address = UINT64_MAX;
	if (is(ia, "srqs_unsupported"))
		attr->max_srqs = 8;
	if (is(ia, "srq_of_none") || is(ia, "srq_without_ops"))
		attr->srq_supported = true;
	if (is(ia, "srq_without_ops"))
		attr->max_srqs = attr->max_ep_per_srq = attr->max_recv_per_srq = 8;
	if (is(ia, "marks_without_ops"))
		attr->srq_watermarks = attr->srq_info = attr->ep_recv_info = true;
}

/* A valid device with small limits, among them short messages and short regions, which programs have to take into account. */
static void shrink(struct datp_ia_attr *attr)
{
	attr->max_message_size = attr->max_rdma_size = 8192;
	attr->max_dto_per_ep = 64;
	attr->max_evd_qlen = 1024;
	attr->max_iov_per_dto = attr->max_iov_per_rdma_read = attr->max_iov_per_rdma_write = 1;
	attr->max_rdma_read_per_ep_in = attr->max_rdma_read_per_ep_out = 1;
	attr->max_private_data = 64;
}

static void mutant_ia_query(struct datp_ia *ia, struct datp_ia_attr *attr)
{
	my_ia_query(ia, attr);
#define ZERO(field)                                                                                \
	if (is(ia, "zero_" #field))                                                                \
		attr->field = 0;
	ZERO(max_eps)
	ZERO(max_dto_per_ep)
	ZERO(max_rdma_read_per_ep_in)
	ZERO(max_rdma_read_per_ep_out)
	ZERO(max_evds)
	ZERO(max_evd_qlen)
	ZERO(max_iov_per_dto)
	ZERO(max_lmrs)
	ZERO(max_pzs)
	ZERO(max_iov_per_rdma_read)
	ZERO(max_iov_per_rdma_write)
	ZERO(max_lmr_block)
	ZERO(max_lmr_address)
	ZERO(max_message_size)
	ZERO(max_rdma_size)
	ZERO(max_private_data)
	ZERO(optimal_alignment)
	ZERO(max_rdma_read_in)
#undef ZERO
	contradict(ia, attr);
	if (is(ia, "small"))
		shrink(attr);
}

static enum datp_err mutant_lmr_create(struct datp_lmr *lmr, const void *cookie)
{
	enum datp_err err = my_lmr_create(lmr, cookie);

	if (is(lmr->obj.ia, "no_lmr_context"))
		lmr->lmr_context = 0;
	if (is(lmr->obj.ia, "no_rmr_context"))
		lmr->rmr_context = 0;
	return err;
}

static void mutant_lmr_free(struct datp_lmr *lmr)
{
	if (!lmr->lmr_context)
		lmr->lmr_context = lmr->rmr_context;
	my_lmr_free(lmr);
}

static struct datp_ops mutant_ops;

__attribute__((constructor)) static void make_ops(void)
{
	mutant_ops = my_ops;
	mutant_ops.ia_open = mutant_ia_open;
	mutant_ops.ia_query = mutant_ia_query;
	mutant_ops.lmr_create = mutant_lmr_create;
	mutant_ops.lmr_free = mutant_lmr_free;
}

DATP_FAST_PATH(mutant_ops)

static const struct datp_plugin mutant = {
	.name = "mutant",
	.ops = &mutant_ops,
	.ops_size = sizeof(mutant_ops),
	.sdk_major = DATP_SDK_MAJOR,
	.sdk_minor = DATP_SDK_MINOR,
	.fast = DATP_FAST_INIT,
};

DATP_API void dat_provider_init(const DAT_PROVIDER_INFO *info, const char *params)
{
	datp_plugin_init(&mutant, info, params);
}

DATP_API void dat_provider_fini(const DAT_PROVIDER_INFO *info)
{
	datp_plugin_fini(&mutant, info);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * IAs on a verbs device: how they are opened and closed, and their attributes. Invariant: the
 * values of dat_ia_query come from the device, or follow from how this provider uses it.
 */
#include "rdma_async.h"
#include "rdma_cm.h"
#include "rdma_conn.h"
#include "rdma_cq.h"
#include "rdma_device.h"
#include "rdma_fit.h"
#include "rdma_fork.h"
#include "rdma_gid.h"
#include "rdma_ia.h"
#include "rdma_mr.h"
#include "rdma_named.h"
#include "rdma_parts.h"
#include "rdma_pipe.h"
#include "rdma_timer.h"
#include "rdma_wire.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

/* ------------------------------------------------------------------ open and close */

static bool set_nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

static const struct rdma_kind *kind_of(const struct rdma_ia *ia,
				       const struct rdma_kind *const *kinds)
{
	for (int i = 0; kinds[i]; i++)
		if (kinds[i]->transport == ia->verbs->device->transport_type)
			return kinds[i];
	return NULL;
}

/* Checks that the device has a transport which the plugin serves. */
static enum datp_err choose_kind(struct rdma_ia *ia, const struct rdma_kind *const *kinds)
{
	bool iwarp = ia->verbs->device->transport_type == IBV_TRANSPORT_IWARP;

	ia->kind = kind_of(ia, kinds);
	if (ia->kind)
		return DATP_OK;
	datp_log(1, "%s: verbs device %s is %s: name %s in dat.conf instead", ia->base.name,
		 ibv_get_device_name(ia->verbs->device), iwarp ? "iWARP" : "InfiniBand or RoCE",
		 iwarp ? "libdatiwarp.so" : "libdatib.so");
	return DATP_ERR_DEVICE;
}

/* Some devices report windows and do not have them: only a trial shows that. */
static bool windows_work(struct rdma_ia *ia)
{
	struct ibv_mw *mw;

	/* an RMR that gives access to more than was asked for is worse than a slow one */
	if (rdma_has(ia, RDMA_LOOSE_WINDOWS) && rdma_emulates(ia))
		return false;
	if (!ia->dev.max_mw || (mw = ibv_alloc_mw(ia->pd, IBV_MW_TYPE_1)) == NULL)
		return false;
	ibv_dealloc_mw(mw);
	return true;
}

static enum datp_err open_tables(struct rdma_ia *ia)
{
	ia->pd = rdma_pd_new(ia);
	if (!ia->pd)
		return DATP_ERR_MEMORY;
	/* relaxed: no other thread has the adapter yet */
	atomic_store_explicit(&ia->windows, windows_work(ia), memory_order_relaxed);
	if (rdma_has(ia, RDMA_SIGPIPE))
		rdma_pipe_guard();
	ia->key_cq = ia->kind->reserve_key && rdma_has(ia, RDMA_QUEUE_KEY) ? ia->kind->reserve_key(ia) : NULL;
	return rdma_cqset_init(&ia->null_set, ia, NULL, &ia->null_lock, 256);
}

static enum datp_err open_watches(struct rdma_ia *ia)
{
	int cm_fd = ia->channel->channel->fd, async_fd = ia->verbs->async_fd;
	enum datp_err err;

	if (!set_nonblocking(cm_fd) || !set_nonblocking(async_fd)) {
		datp_log(1,
			 "%s: cannot make a descriptor of the device non-blocking (fcntl): %s; allow the call (a seccomp filter)",
			 ia->base.name, strerror(errno));
		return DATP_ERR_DEVICE;
	}
	err = datp_loop_add(&ia->base, cm_fd, EPOLLIN, rdma_cm_event, ia, &ia->cm_watch);
	if (!err)
		err = datp_loop_add(&ia->base, async_fd, EPOLLIN, rdma_async_event, ia,
				    &ia->async_watch);
	if (!err)
		rdma_cqset_watch(&ia->null_set, 1); /* nobody else polls it */
	return err;
}

static enum datp_err open_channel(struct rdma_ia *ia)
{
	ia->channel = rdma_channel_new();
	if (ia->channel)
		return DATP_OK;
	datp_log(1,
		 "%s: cannot reach the RDMA connection manager: %s; `modprobe rdma_ucm`, and see that "
		 "/dev/infiniband/rdma_cm is there and accessible",
		 ia->base.name, strerror(errno));
	return DATP_ERR_DEVICE;
}

enum datp_err rdma_ia_open(struct datp_ia *base, const char *params,
			   const struct rdma_kind *const *kinds)
{
	struct rdma_ia *ia = rdma_ia(base);
	enum datp_err err = DATP_ERR_PARAM;
	pthread_condattr_t monotonic;

	pthread_mutex_init(&ia->lock, NULL);
	pthread_mutex_init(&ia->cq_lock, NULL);
	ia->cq_spare = RDMA_CQ_SPARE;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&ia->idle, &monotonic);
	pthread_condattr_destroy(&monotonic);
	if (!rdma_options_parse(ia, params))
		goto close;
	err = open_channel(ia);
	if (!err)
		err = rdma_device_open(ia);
	if (!err)
		err = choose_kind(ia, kinds);
	if (!err && !rdma_quirks_find(ia))
		err = DATP_ERR_PARAM;
	if (!err)
		err = open_tables(ia);
	if (!err)
		err = open_watches(ia);
	if (!err) {
		rdma_fork_check(ia);
		return DATP_OK;
	}
close:
	rdma_ia_close(base);
	return err;
}

/*
 * librdmacm keeps a context of each device that an id has used, and for some devices the kernel
 * waits for these contexts when the device is removed. librdmacm gives up the contexts of removed
 * devices when it is asked for a list, if no id uses them any more.
 */
static void drop_lost_devices(void)
{
	struct ibv_context **list = rdma_get_devices(NULL);

	if (list)
		rdma_free_devices(list);
}

void rdma_ia_close(struct datp_ia *base)
{
	struct rdma_ia *ia = rdma_ia(base);

	if (ia->cm_watch)
		datp_loop_del(ia->cm_watch);
	if (ia->async_watch)
		datp_loop_del(ia->async_watch);
	rdma_timer_close(ia);
	if (ia->bound)
		rdma_destroy_id(ia->bound);
	rdma_conns_fini(ia);
	rdma_parts_fini(ia);
	rdma_cqset_fini(&ia->null_set);
	if (ia->key_cq)
		ibv_destroy_cq(ia->key_cq);
	if (ia->pd)
		ibv_dealloc_pd(ia->pd);
	if (ia->verbs)
		rdma_device_close(ia);
	if (ia->channel)
		rdma_channel_put(ia->channel);
	/* relaxed: the service thread, which writes it, has ended */
	if (atomic_load_explicit(&ia->lost, memory_order_relaxed))
		drop_lost_devices();
	pthread_cond_destroy(&ia->idle);
	pthread_mutex_destroy(&ia->cq_lock);
	pthread_mutex_destroy(&ia->lock);
}

/* ------------------------------------------------------------------ attributes */

static void name_attr(struct rdma_ia *ia, const char *name, const char *value)
{
	ia->named[ia->named_count++] = (DAT_NAMED_ATTR){ .name = (char *)(uintptr_t)name,
							 .value = (char *)(uintptr_t)value };
}

static void name_quirks(struct rdma_ia *ia)
{
	for (enum rdma_quirk i = 0; i < RDMA_QUIRKS; i++)
		if (rdma_quirk_show(ia, i, ia->quirk_text[i], sizeof(ia->quirk_text[i])))
			name_attr(ia, rdma_quirk_shown(i), ia->quirk_text[i]);
}

static void fill_named(struct rdma_ia *ia)
{
	ia->named_count = 0;
	snprintf(ia->named_text[0], sizeof(ia->named_text[0]), "%s port %d",
		 ibv_get_device_name(ia->verbs->device), ia->port);
	snprintf(ia->named_text[1], sizeof(ia->named_text[1]), "%.60s", ia->dev.fw_ver);
	name_attr(ia, "transport", ia->kind->shown);
	name_attr(ia, "device", ia->named_text[0]);
	name_attr(ia, "firmware", ia->named_text[1]);
	if (ia->named_text[2][0] || rdma_gid_show(ia, ia->named_text[2], sizeof(ia->named_text[2])))
		name_attr(ia, "gid", ia->named_text[2]);
	name_attr(ia, "rmr",
		  rdma_has_windows(ia)  ? "memory windows"
		  : rdma_emulates(ia) ? "emulated: each bind registers its range anew"
					  : "none: the device has no memory windows");
	if (rdma_has_windows(ia) && rdma_has(ia, RDMA_LOOSE_WINDOWS))
		name_attr(ia, "rmr_bounds", "unchecked");
	/* datconform reads these attributes */
	if (!ia->kind->has_rtu) {
		name_attr(ia, "refused_access", "ends");
		name_attr(ia, "accept", "unconfirmed");
		name_attr(ia, "broken", "unsure");
	}
	/* relaxed: determined when the adapter was opened */
	if (atomic_load_explicit(&ia->solicited_unknown, memory_order_relaxed))
		name_attr(ia, "solicited", "unknown");
	if (rdma_has(ia, RDMA_READS_UNCHECKED))
		name_attr(ia, "read_right", "unchecked");
	if (rdma_has(ia, RDMA_WRITE_SINKS))
		name_attr(ia, "write_right", "unchecked");
	if (rdma_has(ia, RDMA_SHORT_FLUSHED))
		name_attr(ia, "short_receive", "flushed");
	name_quirks(ia);
}

static void fill_counts(const struct rdma_ia *ia, struct datp_ia_attr *a)
{
	const struct ibv_device_attr *dev = &ia->dev;

	a->max_eps = rdma_count(dev->max_qp);
	a->max_dto_per_ep = rdma_request_wrs(ia);
	a->max_rdma_read_per_ep_in = a->max_rdma_read_in = rdma_count(dev->max_qp_rd_atom);
	a->max_rdma_read_per_ep_out = a->max_rdma_read_out = rdma_count(dev->max_qp_init_rd_atom);
	/* many drivers leave the total over all queue pairs at 0 (irdma, bnxt_re, hns, qedr) */
	a->max_rdma_read_in = rdma_count(dev->max_res_rd_atom
						 ? dev->max_res_rd_atom
						 : (int64_t)dev->max_qp_rd_atom * dev->max_qp);
	a->max_rdma_read_out = rdma_count((int64_t)dev->max_qp_init_rd_atom * dev->max_qp);
	a->read_in_guaranteed = a->read_out_guaranteed = true;
	a->max_evds = rdma_count(dev->max_cq - 1 - (ia->key_cq != NULL));
	/* an EVD is a list of libdatp's; the CQs behind it are as many as its endpoints need, up to RDMA_CQ_MAX */
	a->max_evd_qlen = rdma_count((int64_t)dev->max_cqe * RDMA_CQ_MAX);
	a->max_iov_per_dto = rdma_least(dev->max_sge, RDMA_SGE_MAX);
	a->max_iov_per_rdma_write = a->max_iov_per_dto;
	/*
	 * if the device allows fewer segments in a read than in other requests, the provider splits
	 * reads
	 */
	a->max_iov_per_rdma_read = a->max_iov_per_dto;
	a->max_lmrs = rdma_count(dev->max_mr);
	a->max_pzs = rdma_count(dev->max_pd - 1);
	/* until a bind completes, its RMR uses two windows: the one that this bind creates, and that of the bind before */
	a->max_rmrs = rdma_has_windows(ia) ? rdma_count(dev->max_mw / 2)
		      : rdma_emulates(ia) ? rdma_count(dev->max_mr)
					    : 0;
}

static void fill_srq(const struct rdma_ia *ia, struct datp_ia_attr *a)
{
	a->srq_supported = ia->dev.max_srq > 0;
	if (!a->srq_supported)
		return;
	a->max_srqs = rdma_count(ia->dev.max_srq);
	a->max_ep_per_srq = rdma_count(ia->dev.max_qp);
	a->max_recv_per_srq = rdma_least(ia->dev.max_srq_wr, ia->dev.max_cqe - RDMA_SPARE_WR);
	a->max_iov_per_dto = rdma_least(a->max_iov_per_dto, ia->dev.max_srq_sge);
}

/*
 * Returns the longest message, from what the port reports: some drivers report nothing (mana), and
 * then the value that all devices support is used. Some devices treat a segment of 2^31 bytes as
 * one of 0, so a message in one segment has to be shorter.
 */
static uint32_t longest_message(uint32_t said)
{
	return !said ? 1u << 30 : said < INT32_MAX ? said : INT32_MAX;
}

void rdma_ia_query(struct datp_ia *base, struct datp_ia_attr *a)
{
	struct rdma_ia *ia = rdma_ia(base);
	uint32_t message = longest_message(ia->port_attr.max_msg_sz);
	uint64_t region = rdma_longest_region(ia);

	memset(a, 0, sizeof(*a));
	/*
	 * with readsink=strict the provider does not give each region the remote right to write, so
	 * the program has to ask for it
	 */
	a->write_for_read_required = (ia->opt.quirks_off & rdma_quirk_bit(RDMA_WRITE_SINKS)) &&
				     ia->kind->transport == IBV_TRANSPORT_IWARP;
	snprintf(a->adapter_name, sizeof(a->adapter_name), "%s",
		 ibv_get_device_name(ia->verbs->device));
	snprintf(a->vendor_name, sizeof(a->vendor_name), "0x%06x", ia->dev.vendor_id);
	a->hw_major = ia->dev.hw_ver;
	a->hw_minor = ia->dev.vendor_part_id;
	sscanf(ia->dev.fw_ver, "%u.%u", &a->fw_major, &a->fw_minor);
	fill_counts(ia, a);
	fill_srq(ia, a);
	a->max_lmr_block = region < ia->dev.max_mr_size ? region : ia->dev.max_mr_size;
	a->max_lmr_address = a->max_rmr_address = UINT64_MAX;
	a->max_message_size = a->max_rdma_size = message;
	a->max_private_data = ia->kind->max_private_data;
	a->optimal_alignment = 64;
	a->ep_recv_info = true;
	fill_named(ia);
	a->transport_attr = ia->named;
	a->transport_attr_count = ia->named_count;
	rdma_named_fill(ia, a);
}

void rdma_ext_query(struct datp_ia *base, struct datp_ext_attr *attr)
{
	const struct rdma_ia *ia = rdma_ia(base);

	/* InfiniBand requires immediate data of every device, and iWARP has none */
	attr->write_imm = ia->kind->transport == IBV_TRANSPORT_IB;
	attr->atomics = rdma_has_atomics(ia);
	/* over iWARP the answer to a read is written to its sink, by a key that the request names */
	attr->read_exposes_sink = ia->kind->transport == IBV_TRANSPORT_IWARP;
	attr->max_reject_data = rdma_wire_reject_max(ia->kind);
}

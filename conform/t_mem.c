/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dat_pz_*, dat_lmr_*: zones and regions, what they cover, who may use them, when they can be
 * freed.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "kit.h"

#define MOST_SIZE 16384

/* Returns the length of a region that a test works with: at most one message, and one RDMA operation. */
static size_t region_size(void)
{
	DAT_VLEN most = t.attr.max_message_size < t.attr.max_rdma_size ? t.attr.max_message_size
								       : t.attr.max_rdma_size;

	return most < MOST_SIZE ? (size_t)most : MOST_SIZE;
}

#define SIZE region_size()

static bool zeroed(const unsigned char *mem, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (mem[i])
			return false;
	return true;
}

static DAT_RETURN lmr(DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION region, DAT_VLEN length,
		      DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS priv, struct kit_buf *made)
{
	DAT_VADDR address;
	DAT_VLEN size;

	return dat_lmr_create(t.ia, type, region, length, pz, priv, &made->lmr, &made->context,
			      &made->rmr_context, &size, &address);
}

static DAT_RETURN lmr_of(void *mem, DAT_VLEN length, DAT_MEM_PRIV_FLAGS priv)
{
	DAT_REGION_DESCRIPTION region = { .for_va = mem };
	struct kit_buf made;

	return lmr(DAT_MEM_TYPE_VIRTUAL, region, length, t.pz, priv, &made);
}

/* Registers the same memory again by the handle of its first region. */
static struct kit_buf lmr_of_lmr(const struct kit_buf *parent, DAT_VLEN length, DAT_PZ_HANDLE pz)
{
	DAT_REGION_DESCRIPTION region = { .for_lmr_handle = parent->lmr };
	struct kit_buf made = *parent;

	MUST_RET(lmr(DAT_MEM_TYPE_LMR, region, length, pz, KIT_REMOTE, &made), DAT_SUCCESS);
	return made;
}

static DAT_LMR_PARAM query(DAT_LMR_HANDLE handle)
{
	DAT_LMR_PARAM param;

	memset(&param, 0xa5, sizeof(param));
	MUST_RET(dat_lmr_query(handle, DAT_LMR_FIELD_ALL, &param), DAT_SUCCESS);
	return param;
}

#define REVOKED                                                                                    \
	DAT_PRIVILEGES_VIOLATION /* the specification's pages name both types for the context of a freed region */

/*
 * Checks that a local fault is refused by the post, with this type, or reported by the completion,
 * which ends the connection: one of the two, never both. After the latter this connects the two
 * ends again.
 */
static void want_fault(struct kit_pair *p, DAT_RETURN ret, DAT_RETURN type, DAT_RETURN or_type,
		       DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	if (DAT_GET_TYPE(ret) != DAT_SUCCESS) {
		CHECK_RET_IN(ret, type, or_type);
		kit_empty(evd);
		return;
	}
	event = kit_event(evd);
	CHECK_NUM(event.event_data.dto_completion_event_data.status, DAT_DTO_ERR_LOCAL_PROTECTION);
	kit_over(p->a.connect, p->a.ep);
	kit_over(p->b.connect, p->b.ep);
	judge_outcome("DAT_DTO_ERR_LOCAL_PROTECTION");
	kit_reconnect(p);
}

static void want_local_fault(struct kit_pair *p, DAT_RETURN ret, DAT_RETURN type,
			     DAT_EVD_HANDLE evd)
{
	want_fault(p, ret, type, type, evd);
}

/* a accesses b's memory, which is in this process, and has to be refused: nothing is written or read. */
static void want_no_reach(struct kit_pair *p, const struct kit_buf *target, DAT_RMR_TRIPLET to,
			  bool write)
{
	struct kit_buf own = kit_buf_a(SIZE, KIT_SINK);
	DAT_LMR_TRIPLET seg = kit_seg(&own, 0, to.segment_length);

	memset(target->mem, write ? 0 : 0x77, target->size);
	kit_buf_set(&own, 0, own.size, write ? 0x77 : 0);
	if (write)
		MUST_RET(kit_write(p->a.ep, seg, to, 9, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	else
		MUST_RET(kit_read(p->a.ep, seg, to, 9, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	kit_remote_access(p, 9, write);
	if (write)
		CHECK_THAT(zeroed(target->mem, target->size));
	else
		CHECK_THAT(kit_buf_is(&own, 0, (unsigned char[64]){ 0 }, 64));
	kit_reconnect(p);
}

/* a writes to and reads from b's memory. */
static void want_reach(struct kit_pair *p, DAT_RMR_TRIPLET to)
{
	struct kit_buf own = kit_buf_a(SIZE, KIT_SINK);
	void *there = (void *)(uintptr_t)to.API_TARGET_ADDRESS;
	DAT_LMR_TRIPLET seg = kit_seg(&own, 0, to.segment_length);

	kit_buf_fill(&own, 0, to.segment_length, 3);
	MUST_RET(kit_write(p->a.ep, seg, to, 1, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	kit_dto(p->a.request, p->a.ep, 1, DAT_DTO_SUCCESS);
	CHECK_SOON(kit_filled(there, to.segment_length, 3));
	kit_fill(there, to.segment_length, 4);
	MUST_RET(kit_read(p->a.ep, seg, to, 2, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	kit_dto(p->a.request, p->a.ep, 2, DAT_DTO_SUCCESS);
	CHECK_THAT(kit_buf_filled(&own, 0, to.segment_length, 4));
}

/* a sends from this memory and b receives the message. */
static void want_send(struct kit_pair *p, const struct kit_buf *from, size_t offset, size_t length)
{
	struct kit_buf sink = kit_buf(SIZE, KIT_LOCAL);

	kit_fill(from->mem + offset, length, 5);
	MUST_RET(kit_recv(p->b.ep, &sink, 0, SIZE, 1), DAT_SUCCESS);
	MUST_RET(kit_send(p->a.ep, from, offset, length, 2, DAT_COMPLETION_DEFAULT_FLAG),
		 DAT_SUCCESS);
	CHECK_NUM(kit_dto(p->b.recv, p->b.ep, 1, DAT_DTO_SUCCESS).transfered_length, length);
	kit_dto(p->a.request, p->a.ep, 2, DAT_DTO_SUCCESS);
	CHECK_THAT(kit_filled(sink.mem, length, 5));
}

/* Zones. */

CLAUSE("PZ_CREATE-01", "PZ_QUERY-01", "PZ_FREE-01", "PZ_FREE-08")
{
	DAT_PZ_HANDLE pz = DAT_HANDLE_NULL;
	DAT_PZ_PARAM param = { .ia_handle = KIT_BAD };
	DAT_REGION_DESCRIPTION region = { .for_va = &param };
	struct kit_buf made;

	ABOUT("PZ_CREATE-01");
	MUST_RET(dat_pz_create(t.ia, &pz), DAT_SUCCESS);
	CHECK_THAT(pz != DAT_HANDLE_NULL && pz != t.pz);
	ABOUT("PZ_QUERY-01");
	CHECK_RET(dat_pz_query(pz, DAT_PZ_FIELD_ALL, &param), DAT_SUCCESS);
	CHECK_THAT(param.ia_handle == t.ia);
	ABOUT("PZ_FREE-01");
	CHECK_RET(dat_pz_free(pz), DAT_SUCCESS);
	ABOUT("PZ_FREE-08");
	CHECK_RET(lmr(DAT_MEM_TYPE_VIRTUAL, region, sizeof(param), pz, KIT_LOCAL, &made),
		  DAT_INVALID_HANDLE);
	CHECK_RET(dat_pz_query(pz, DAT_PZ_FIELD_ALL, &param), DAT_INVALID_HANDLE);
	CHECK_RET(dat_pz_free(pz), DAT_INVALID_HANDLE);
}

CLAUSE("PZ_CREATE-02")
{
	DAT_RETURN ret = DAT_SUCCESS;
	DAT_PZ_HANDLE pz;

	for (int i = 0; i < 1000 && ret == DAT_SUCCESS; i++)
		ret = dat_pz_create(t.ia, &pz);
	CHECK_RET_IN(ret, DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES);
}

CLAUSE("PZ_CREATE-03")
{
	CHECK_RET(dat_pz_create(t.ia, NULL), DAT_INVALID_PARAMETER);
}

CLAUSE("PZ_CREATE-05", "LMR_CREATE-18")
{
	struct kit_buf own = kit_buf(SIZE, KIT_REMOTE), other;
	DAT_LMR_TRIPLET seg;
	struct kit_pair p;

	NEEDS(t.prov.pz_support == DAT_PZ_UNIQUE, "pz_support");
	kit_pair(&p, NULL);
	other = kit_region(kit_pz(), own.mem, SIZE, KIT_REMOTE);
	seg = kit_seg(&other, 0, 64);
	ABOUT("LMR_CREATE-18");
	want_local_fault(&p, kit_send(p.a.ep, &other, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG),
			 DAT_PROTECTION_VIOLATION, p.a.request);
	want_local_fault(
		&p,
		kit_write(p.a.ep, seg, kit_target(&own, 64, 64), 1, DAT_COMPLETION_DEFAULT_FLAG),
		DAT_PROTECTION_VIOLATION, p.a.request);
	want_local_fault(
		&p, kit_read(p.a.ep, seg, kit_target(&own, 64, 64), 1, DAT_COMPLETION_DEFAULT_FLAG),
		DAT_PROTECTION_VIOLATION, p.a.request);
	ABOUT("PZ_CREATE-05");
	want_local_fault(&p, kit_send(p.a.ep, &other, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG),
			 DAT_PROTECTION_VIOLATION, p.a.request);
	want_no_reach(&p, &other, kit_target(&other, 0, 64), true);
	want_no_reach(&p, &other, kit_target(&other, 0, 64), false);
}

static int work_on_pzs(int who)
{
	DAT_PZ_HANDLE pz;
	DAT_PZ_PARAM param;
	int failures = 0;

	(void)who;
	for (int i = 0; i < 200; i++) {
		failures += dat_pz_create(t.ia, &pz) != DAT_SUCCESS;
		failures += dat_pz_query(pz, DAT_PZ_FIELD_ALL, &param) != DAT_SUCCESS;
		failures += dat_pz_query(t.pz, DAT_PZ_FIELD_ALL, &param) != DAT_SUCCESS ||
			    param.ia_handle != t.ia;
		failures += dat_pz_free(pz) != DAT_SUCCESS;
	}
	return failures;
}

CLAUSE("PZ_CREATE-06", "PZ_QUERY-04")
{
	NEEDS(t.prov.is_thread_safe, "is_thread_safe");
	CHECK_NUM(kit_together(work_on_pzs), 0);
}

CLAUSE("PZ_FREE-03", "PZ_FREE-04", "PZ_FREE-07", "LMR_CREATE-20")
{
	struct kit_pair p;
	DAT_LMR_PARAM param;
	struct kit_buf buf;
	DAT_PZ_HANDLE pz;

	kit_pair(&p, NULL);
	ABOUT("PZ_FREE-03");
	CHECK_RET(dat_pz_free(t.pz), DAT_INVALID_STATE);
	ABOUT("PZ_FREE-07");
	kit_exchange(&p.a, &p.b);
	CHECK_NUM(kit_state(p.a.ep), DAT_EP_STATE_CONNECTED);
	pz = kit_pz();
	buf = kit_buf_in(pz, SIZE, KIT_LOCAL);
	ABOUT("PZ_FREE-04");
	CHECK_RET(dat_pz_free(pz), DAT_INVALID_STATE);
	ABOUT("LMR_CREATE-20");
	CHECK_RET(dat_pz_free(pz), DAT_INVALID_STATE);
	CHECK_RET(dat_lmr_query(buf.lmr, DAT_LMR_FIELD_ALL, &param), DAT_SUCCESS);
	CHECK_RET(dat_lmr_free(buf.lmr), DAT_SUCCESS);
	CHECK_RET(dat_pz_free(pz), DAT_SUCCESS);
}

/* Regions. */

CLAUSE("LMR_CREATE-01", "LMR_CREATE-07", "LMR_QUERY-01", "LMR_QUERY-04", "LMR_FREE-01",
       "LMR_FREE-06", "LMR_FREE-10")
{
	struct kit_buf whole = kit_buf(SIZE, KIT_LOCAL);
	unsigned char *mem = whole.mem + 3;
	DAT_REGION_DESCRIPTION region = { .for_va = mem };
	DAT_LMR_HANDLE handle = DAT_HANDLE_NULL;
	DAT_LMR_CONTEXT context = 0;
	DAT_RMR_CONTEXT rmr_context = 0;
	DAT_LMR_PARAM param;
	DAT_VADDR address = 0;
	DAT_VLEN size = 0;

	ABOUT("LMR_CREATE-01");
	MUST_RET(dat_lmr_create(t.ia, DAT_MEM_TYPE_VIRTUAL, region, 1001, t.pz, KIT_REMOTE, &handle,
				&context, &rmr_context, &size, &address),
		 DAT_SUCCESS);
	CHECK_THAT(handle != DAT_HANDLE_NULL && context != 0 && rmr_context != 0);
	ABOUT("LMR_CREATE-07");
	CHECK_THAT(address <= (uintptr_t)mem && address + size >= (uintptr_t)mem + 1001);
	ABOUT("LMR_QUERY-04");
	param = query(handle);
	CHECK_THAT(param.ia_handle == t.ia && param.pz_handle == t.pz &&
		   param.region_desc.for_va == mem);
	CHECK_NUM(param.mem_type, DAT_MEM_TYPE_VIRTUAL);
	CHECK_NUM(param.length, 1001);
	CHECK_NUM(param.mem_priv, KIT_REMOTE);
	CHECK_NUM(param.lmr_context, context);
	CHECK_NUM(param.rmr_context, rmr_context);
	CHECK_THAT(param.registered_size == size && param.registered_address == address);
	ABOUT("LMR_QUERY-01");
	for (unsigned int bit = 1; bit < DAT_LMR_FIELD_ALL; bit <<= 1)
		CHECK_RET(dat_lmr_query(handle, (DAT_LMR_PARAM_MASK)bit, &param), DAT_SUCCESS);
	ABOUT("LMR_FREE-01");
	kit_fill(mem, 1001, 1);
	CHECK_RET(dat_lmr_free(handle), DAT_SUCCESS);
	ABOUT("LMR_FREE-06");
	CHECK_THAT(kit_filled(mem, 1001, 1));
	memset(mem, 1, 1001);
	ABOUT("LMR_FREE-10");
	CHECK_RET(dat_lmr_query(handle, DAT_LMR_FIELD_ALL, &param), DAT_INVALID_HANDLE);
	CHECK_RET(dat_lmr_free(handle), DAT_INVALID_HANDLE);
}

CLAUSE("LMR_CREATE-02")
{
	struct kit_buf buf = kit_buf(SIZE, KIT_LOCAL);
	DAT_RETURN ret = DAT_SUCCESS;

	for (int i = 0; i < 2000 && ret == DAT_SUCCESS; i++)
		ret = lmr_of(buf.mem, SIZE, KIT_LOCAL);
	CHECK_RET_IN(ret, DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES);
}

CLAUSE("LMR_CREATE-03")
{
	struct kit_buf buf = kit_buf(SIZE, KIT_LOCAL);
	DAT_REGION_DESCRIPTION region = { .for_va = buf.mem };
	DAT_VADDR address;
	DAT_VLEN size;

	CHECK_RET_IN(lmr_of(buf.mem, ~(DAT_VLEN)0 - 10, KIT_LOCAL), DAT_INVALID_PARAMETER,
		     DAT_LENGTH_ERROR);
	CHECK_RET(lmr_of(buf.mem, SIZE, (DAT_MEM_PRIV_FLAGS)0x100), DAT_INVALID_PARAMETER);
	CHECK_RET(lmr_of(buf.mem, SIZE, (DAT_MEM_PRIV_FLAGS)(KIT_LOCAL | 4)),
		  DAT_INVALID_PARAMETER);
	CHECK_RET(dat_lmr_create(t.ia, DAT_MEM_TYPE_VIRTUAL, region, SIZE, t.pz, KIT_LOCAL, NULL,
				 &buf.context, &buf.rmr_context, &size, &address),
		  DAT_INVALID_PARAMETER);
}

CLAUSE("LMR_CREATE-05")
{
	char cookie[DAT_LMR_COOKIE_SIZE] = "of memory that is not shared";
	struct kit_buf buf = kit_buf(SIZE, KIT_LOCAL);
	DAT_REGION_DESCRIPTION region = { .for_va = NULL };

	region.for_shared_memory.virtual_address = buf.mem;
	region.for_shared_memory.shared_memory_id = &cookie;
	CHECK_RET_IN(lmr(DAT_MEM_TYPE_SHARED_VIRTUAL, region, SIZE, t.pz, KIT_LOCAL, &buf),
		     DAT_SUCCESS, DAT_INVALID_STATE);
}

CLAUSE("LMR_CREATE-06")
{
	struct kit_buf buf = kit_buf(SIZE, KIT_LOCAL);
	DAT_REGION_DESCRIPTION region = { .for_va = buf.mem };

	CHECK_RET_IN(lmr((DAT_MEM_TYPE)77, region, SIZE, t.pz, KIT_LOCAL, &buf),
		     DAT_MODEL_NOT_SUPPORTED, DAT_INVALID_PARAMETER);
}

/* DAT_MEM_TYPE_VIRTUAL is 0, so no bit says that it is supported: kit_buf() registers such a region. */
CLAUSE("IA_QUERY-09")
{
	char cookie[DAT_LMR_COOKIE_SIZE] = "a cookie";
	struct kit_buf buf = kit_buf(SIZE, KIT_LOCAL), made;
	DAT_REGION_DESCRIPTION region = { .for_va = NULL };
	void *mem = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	MUST(mem != MAP_FAILED);
	CHECK_THAT((t.prov.lmr_mem_types_supported & DAT_MEM_TYPE_LMR) != 0);
	CHECK_THAT((t.prov.lmr_mem_types_supported & DAT_MEM_TYPE_SHARED_VIRTUAL) != 0);
	made = lmr_of_lmr(&buf, SIZE, t.pz);
	CHECK_RET(dat_lmr_free(made.lmr), DAT_SUCCESS);
	region.for_shared_memory.virtual_address = mem;
	region.for_shared_memory.shared_memory_id = &cookie;
	CHECK_RET(lmr(DAT_MEM_TYPE_SHARED_VIRTUAL, region, SIZE, t.pz, KIT_LOCAL, &made),
		  DAT_SUCCESS);
	CHECK_RET(dat_lmr_free(made.lmr), DAT_SUCCESS);
	munmap(mem, SIZE);
}

CLAUSE("LMR_CREATE-08", "LMR_CREATE-09")
{
	struct kit_buf parent = kit_buf_in(kit_pz(), SIZE, KIT_LOCAL),
		       child = lmr_of_lmr(&parent, 1, t.pz);
	DAT_LMR_PARAM param = query(child.lmr);
	struct kit_pair p;

	kit_pair(&p, NULL);
	ABOUT("LMR_CREATE-08");
	CHECK_THAT(param.pz_handle == t.pz && child.context != parent.context);
	CHECK_NUM(param.mem_priv, KIT_REMOTE);
	CHECK_THAT(param.registered_address <= (uintptr_t)parent.mem);
	CHECK_THAT(param.registered_address + param.registered_size >=
		   (uintptr_t)parent.mem + SIZE);
	want_send(&p, &child, 0, SIZE);
	want_reach(&p, kit_target(&child, 100, 1000));
	ABOUT("LMR_CREATE-09");
	CHECK_RET_IN(dat_lmr_free(parent.lmr), DAT_SUCCESS, DAT_INVALID_STATE);
	want_send(&p, &child, 100, 1000);
	CHECK_RET(dat_lmr_free(child.lmr), DAT_SUCCESS);
}

/* Memory that both processes map; the second half is registered under a cookie that differs only at its end. */
static struct {
	unsigned char *mem;
	struct kit_buf one, two;
	struct kit_pair p;
} common;

static void register_common(void)
{
	char cookies[2][DAT_LMR_COOKIE_SIZE] = { "common to both", "common to both" };
	DAT_REGION_DESCRIPTION region = { .for_va = NULL };

	cookies[1][DAT_LMR_COOKIE_SIZE - 1] = 'x';
	for (int i = 0; i < 2; i++) {
		struct kit_buf *buf = i ? &common.two : &common.one;

		*buf = (struct kit_buf){ .mem = common.mem + SIZE * (size_t)i, .size = SIZE };
		buf->address = (DAT_VADDR)(uintptr_t)buf->mem;
	}
	region.for_shared_memory.virtual_address = common.one.mem;
	region.for_shared_memory.shared_memory_id = &cookies[0];
	MUST_RET(lmr(DAT_MEM_TYPE_SHARED_VIRTUAL, region, SIZE, t.pz, KIT_REMOTE, &common.one),
		 DAT_SUCCESS);
	region.for_shared_memory.virtual_address = common.two.mem;
	region.for_shared_memory.shared_memory_id = &cookies[1];
	MUST_RET(lmr(DAT_MEM_TYPE_SHARED_VIRTUAL, region, SIZE, t.pz, KIT_REMOTE, &common.two),
		 DAT_SUCCESS);
	kit_pair(&common.p, NULL);
}

static void read_common(const struct kit_buf *from, unsigned int seed)
{
	struct kit_buf own = kit_buf(1000, KIT_SINK);

	MUST_RET(kit_read(common.p.a.ep, kit_seg(&own, 0, 1000), kit_target(from, 0, 1000), 1,
			  DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	kit_dto(common.p.a.request, common.p.a.ep, 1, DAT_DTO_SUCCESS);
	CHECK_THAT(kit_filled(own.mem, 1000, seed));
}

static void share_too(int fd)
{
	char word = 0;

	kit_open();
	register_common();
	peer_tell(fd, &word, 1);
	peer_hear(fd, &word, 1);
	read_common(&common.one, 8);
	read_common(&common.two, 9);
	CHECK_RET(dat_lmr_free(common.one.lmr), DAT_SUCCESS);
	peer_tell(fd, &word, 1);
	peer_hear(fd, &word, 1);
	kit_close();
}

CLAUSE_BARE("LMR_CREATE-10")
{
	struct kit_buf own;
	char word;
	int fd;

	common.mem =
		mmap(NULL, (size_t)2 * MOST_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	MUST(common.mem != MAP_FAILED);
	fd = peer_start(share_too);
	kit_open();
	register_common();
	CHECK_THAT(common.one.context != common.two.context);
	own = kit_buf(1000, KIT_LOCAL);
	peer_hear(fd, &word, 1);
	for (unsigned int seed = 8; seed <= 9; seed++) {
		kit_fill(own.mem, 1000, seed);
		MUST_RET(kit_write(common.p.a.ep, kit_seg(&own, 0, 1000),
				   kit_target(seed == 8 ? &common.one : &common.two, 0, 1000), seed,
				   DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
		kit_dto(common.p.a.request, common.p.a.ep, seed, DAT_DTO_SUCCESS);
	}
	peer_tell(fd, &word, 1);
	peer_hear(fd, &word, 1);
	/* The other process's free does not free this process's region. */
	read_common(&common.one, 8);
	peer_tell(fd, &word, 1);
}

/* a sends and writes from memory that may only be read. */
static void want_sources(struct kit_pair *p)
{
	struct kit_buf source = kit_buf(SIZE, DAT_MEM_PRIV_LOCAL_READ_FLAG),
		       target = kit_buf(SIZE, KIT_REMOTE);

	want_send(p, &source, 0, 64);
	kit_fill(source.mem, 64, 6);
	MUST_RET(kit_write(p->a.ep, kit_seg(&source, 0, 64), kit_target(&target, 0, 64), 3,
			   DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	kit_dto(p->a.request, p->a.ep, 3, DAT_DTO_SUCCESS);
	CHECK_SOON(kit_filled(target.mem, 64, 6));
}

/*
 * LOCAL_READ is enough for a source. InfiniBand and iWARP have no privilege for local reads, so there a send from a region without
 * it succeeds. That send is the last one, because the connection may end by it.
 */
CLAUSE("LMR_CREATE-11", "LMR_CREATE-12")
{
	static const DAT_MEM_PRIV_FLAGS not_written[] = { DAT_MEM_PRIV_NONE_FLAG,
							  DAT_MEM_PRIV_LOCAL_READ_FLAG };
	static const char *const ids[] = { "LMR_CREATE-11", "LMR_CREATE-12" };
	struct kit_buf own = kit_buf(SIZE, KIT_REMOTE), bad;
	struct kit_pair p;
	DAT_RETURN ret;

	kit_pair(&p, NULL);
	kit_exchange(&p.a, &p.b);	/* on iWARP b must not be the first to send */
	ABOUT("LMR_CREATE-12");
	want_sources(&p);
	for (int i = 0; i < 2; i++) {
		ABOUT(ids[i]);
		bad = kit_buf(SIZE, not_written[i]);
		want_local_fault(&p,
				 kit_read(p.a.ep, kit_seg(&bad, 0, 64), kit_target(&own, 0, 64), 1,
					  DAT_COMPLETION_DEFAULT_FLAG),
				 DAT_PRIVILEGES_VIOLATION, p.a.request);
		ret = kit_recv(p.a.ep, &bad, 0, 64, 1);
		if (ret == DAT_SUCCESS)
			MUST_RET(kit_send(p.b.ep, &own, 0, 64, 2, DAT_COMPLETION_SUPPRESS_FLAG),
				 DAT_SUCCESS);
		want_local_fault(&p, ret, DAT_PRIVILEGES_VIOLATION, p.a.recv);
		CHECK_THAT(zeroed(bad.mem, SIZE));
	}
	bad = kit_buf(SIZE, DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
	ret = kit_send(p.a.ep, &bad, 0, 64, 2, DAT_COMPLETION_DEFAULT_FLAG);
	if (ret != DAT_SUCCESS)
		CHECK_RET(ret, DAT_PRIVILEGES_VIOLATION);
	judge_outcome("send without LOCAL_READ: %s", judge_ret_name(ret));
}

CLAUSE_PASSIVE("LMR_CREATE-13")
{
	struct kit_buf local = kit_buf(SIZE, KIT_LOCAL);
	struct kit_buf ro =
		kit_region(t.pz, local.mem, SIZE, KIT_LOCAL | DAT_MEM_PRIV_REMOTE_READ_FLAG);
	struct kit_buf wo =
		kit_region(t.pz, local.mem, SIZE, KIT_LOCAL | DAT_MEM_PRIV_REMOTE_WRITE_FLAG);
	DAT_RMR_TRIPLET by_lmr_context = kit_target(&local, 0, 64);
	struct kit_pair p;

	kit_pair(&p, NULL);
	by_lmr_context.rmr_context = local.context;
	if (judge_writes_are_checked()) {
		want_no_reach(&p, &local, kit_target(&local, 0, 64), true);
		want_no_reach(&p, &local, by_lmr_context, true);
		want_no_reach(&p, &local, kit_target(&ro, 0, 64), true);
	}
	NEEDS_READ_RIGHT();
	want_no_reach(&p, &local, by_lmr_context, false);
	want_no_reach(&p, &local, kit_target(&wo, 0, 64), false);
}

CLAUSE("LMR_CREATE-14")
{
	static const DAT_MEM_PRIV_FLAGS local[] = { DAT_MEM_PRIV_NONE_FLAG,
						    DAT_MEM_PRIV_LOCAL_READ_FLAG,
						    DAT_MEM_PRIV_LOCAL_WRITE_FLAG, KIT_LOCAL };
	struct kit_buf buf = kit_buf(SIZE, KIT_REMOTE);
	DAT_REGION_DESCRIPTION region = { .for_va = buf.mem };
	struct kit_buf made;

	CHECK_THAT(buf.rmr_context != 0);
	for (int i = 0; i < 4; i++) {
		made.rmr_context = 0xa5a5a5a5;
		CHECK_RET(lmr(DAT_MEM_TYPE_VIRTUAL, region, SIZE, t.pz, local[i], &made),
			  DAT_SUCCESS);
		CHECK_NUM(made.rmr_context, 0);
	}
	CHECK_THAT(kit_region(t.pz, buf.mem, SIZE, DAT_MEM_PRIV_READ_FLAG).rmr_context != 0);
	CHECK_THAT(kit_region(t.pz, buf.mem, SIZE, DAT_MEM_PRIV_WRITE_FLAG).rmr_context != 0);
}

CLAUSE("LMR_CREATE-15", "LMR_CREATE-16", "LMR_CREATE-19", "LMR_CREATE-21")
{
	struct kit_buf buf, whole;
	struct kit_pair p;

	kit_pair(&p, NULL);
	ABOUT("LMR_CREATE-15");
	buf = kit_buf(SIZE, KIT_REMOTE);
	want_reach(&p, kit_target(&buf, 0, SIZE));
	ABOUT("LMR_CREATE-16");
	want_send(&p, &buf, 0, SIZE);
	ABOUT("LMR_CREATE-19");
	whole = kit_buf(SIZE, KIT_REMOTE);
	kit_fill(whole.mem, SIZE, 11);
	MUST_RET(kit_read(p.a.ep, kit_seg(&buf, 0, SIZE), kit_target(&whole, 0, SIZE), 1,
			  DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	kit_dto(p.a.request, p.a.ep, 1, DAT_DTO_SUCCESS);
	CHECK_THAT(kit_filled(buf.mem, SIZE, 11));
	ABOUT("LMR_CREATE-21");
	for (size_t i = 1; i < 20; i += 6) {
		struct kit_buf odd = kit_region(t.pz, whole.mem + i, 1001 + 2 * i, KIT_REMOTE);

		want_send(&p, &odd, 0, odd.size);
		want_send(&p, &odd, i, 501);
		want_reach(&p, kit_target(&odd, i, 303));
	}
}

CLAUSE("LMR_CREATE-16")
{
	struct kit_buf buf = kit_buf(SIZE, KIT_REMOTE);
	DAT_LMR_TRIPLET seg = kit_seg(&buf, 0, SIZE);
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;
	struct kit_pair p;

	NEEDS(t.attr.max_rmrs > 0, "max_rmrs");
	kit_pair(&p, NULL);
	MUST_RET(dat_rmr_create(t.pz, &rmr), DAT_SUCCESS);
	CHECK_RET(dat_rmr_bind(rmr, &seg, KIT_REMOTE & ~KIT_LOCAL, p.a.ep, kit_cookie(1),
			       DAT_COMPLETION_DEFAULT_FLAG, &context),
		  DAT_SUCCESS);
	CHECK_NUM(kit_event(p.a.request).event_number, DAT_RMR_BIND_COMPLETION_EVENT);
}

CLAUSE_BARE("LMR_CREATE-17")
{
	CHECK_NUM(DAT_MEM_PRIV_ALL_FLAG, 0x33);
}

static unsigned char many[4][MOST_SIZE];

static int work_on_lmrs(int who)
{
	DAT_REGION_DESCRIPTION region = { .for_va = many[who] };
	struct kit_buf made;
	int failures = 0;

	for (int i = 0; i < 200; i++) {
		failures += lmr(DAT_MEM_TYPE_VIRTUAL, region, SIZE, t.pz, KIT_REMOTE, &made) !=
			    DAT_SUCCESS;
		failures += dat_lmr_free(made.lmr) != DAT_SUCCESS;
	}
	return failures;
}

CLAUSE("LMR_CREATE-22")
{
	NEEDS(t.prov.is_thread_safe, "is_thread_safe");
	CHECK_NUM(kit_together(work_on_lmrs), 0);
}

CLAUSE("LMR_FREE-07", "LMR_FREE-11")
{
	struct kit_buf gone = kit_buf(SIZE, KIT_REMOTE), again;
	struct kit_pair p;

	kit_pair(&p, NULL);
	MUST_RET(dat_lmr_free(gone.lmr), DAT_SUCCESS);
	ABOUT("LMR_FREE-07");
	want_fault(&p, kit_send(p.a.ep, &gone, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG),
		   DAT_PROTECTION_VIOLATION, REVOKED, p.a.request);
	ABOUT("LMR_FREE-11");
	again = kit_region(t.pz, gone.mem, SIZE, KIT_REMOTE);
	CHECK_THAT(again.context != gone.context && again.rmr_context != gone.rmr_context);
	want_fault(&p, kit_send(p.a.ep, &gone, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG),
		   DAT_PROTECTION_VIOLATION, REVOKED, p.a.request);
	want_no_reach(&p, &gone, kit_target(&gone, 0, 64), true);
}

CLAUSE_PASSIVE("LMR_FREE-08")
{
	struct kit_buf gone = kit_buf(SIZE, KIT_REMOTE);
	struct kit_pair p;

	kit_pair(&p, NULL);
	want_reach(&p, kit_target(&gone, 0, 64));
	MUST_RET(dat_lmr_free(gone.lmr), DAT_SUCCESS);
	want_no_reach(&p, &gone, kit_target(&gone, 0, 64), true);
	want_no_reach(&p, &gone, kit_target(&gone, 0, 64), false);
}

CLAUSE_PASSIVE("LMR_FREE-09")
{
	struct kit_buf own = kit_buf_a(SIZE, KIT_LOCAL);
	int refused = 0;
	struct kit_pair p;

	NEEDS_REFUSALS();
	kit_pair(&p, NULL);
	for (int i = 0; i < 20; i++) {
		struct kit_buf target = kit_buf(SIZE, KIT_REMOTE);
		DAT_EVENT event;

		MUST_RET(kit_write(p.a.ep, kit_seg(&own, 0, SIZE), kit_target(&target, 0, SIZE), 1,
				   DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
		CHECK_RET(dat_lmr_free(target.lmr), DAT_SUCCESS);
		event = kit_event(p.a.request);
		if (event.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS)
			continue;
		refused++;
		CHECK_NUM(event.event_data.dto_completion_event_data.status,
			  DAT_DTO_ERR_REMOTE_ACCESS);
		kit_conn(p.a.connect, p.a.ep, DAT_CONNECTION_EVENT_BROKEN);
		kit_over(p.b.connect, p.b.ep);
		kit_reconnect(&p);
	}
	judge_outcome("%d of 20 refused", refused);
}

/* After a sync a peer reads what was stored before, and after a sync this side loads what a peer wrote. */
static void sync_segments(DAT_RETURN (*sync)(DAT_IA_HANDLE, const DAT_LMR_TRIPLET *, DAT_VLEN),
			  const char *ok, const char *bad)
{
	struct kit_buf buf = kit_buf(SIZE, KIT_REMOTE),
		       other = kit_buf_in(kit_pz(), SIZE, KIT_REMOTE);
	DAT_LMR_TRIPLET segs[2] = { kit_seg(&buf, 10, 100), kit_seg(&other, 20, 50) };

	ABOUT(ok);
	CHECK_RET(sync(t.ia, segs, 1), DAT_SUCCESS);
	CHECK_RET(sync(t.ia, segs, 2), DAT_SUCCESS);
	ABOUT(bad);
	segs[1].segment_length = 1 << 20;
	CHECK_RET(sync(t.ia, segs, 2), DAT_INVALID_PARAMETER);
	segs[1].segment_length = 50;
	MUST_RET(dat_lmr_free(other.lmr), DAT_SUCCESS);
	CHECK_RET(sync(t.ia, segs, 2), DAT_INVALID_PARAMETER);
}

CLAUSE("LMR_SYNC_R-01", "LMR_SYNC_R-03")
{
	sync_segments(dat_lmr_sync_rdma_read, "LMR_SYNC_R-01", "LMR_SYNC_R-03");
}

CLAUSE("LMR_SYNC_W-01", "LMR_SYNC_W-03")
{
	sync_segments(dat_lmr_sync_rdma_write, "LMR_SYNC_W-01", "LMR_SYNC_W-03");
}

CLAUSE_PASSIVE("LMR_SYNC_R-04", "LMR_SYNC_R-05", "LMR_SYNC_R-06")
{
	struct kit_buf own = kit_buf_a(SIZE, KIT_SINK), buf = kit_buf(SIZE, KIT_REMOTE);
	struct kit_buf other = kit_buf_in(kit_pz(), SIZE, KIT_REMOTE);
	struct kit_buf local = kit_buf(SIZE, KIT_LOCAL);
	DAT_LMR_TRIPLET segs[3] = { kit_seg(&buf, 0, SIZE), kit_seg(&other, 0, SIZE),
				    kit_seg(&local, 0, SIZE) };
	struct kit_pair p;

	kit_pair(&p, NULL);
	ABOUT("LMR_SYNC_R-06");
	CHECK_RET(dat_lmr_sync_rdma_read(t.ia, segs, 3), DAT_SUCCESS);
	for (unsigned int seed = 0; seed < 10; seed++) {
		kit_fill(buf.mem, SIZE, seed);
		ABOUT("LMR_SYNC_R-04");
		CHECK_RET(dat_lmr_sync_rdma_read(t.ia, segs, 1), DAT_SUCCESS);
		CHECK_THAT(kit_filled(buf.mem, SIZE, seed));
		ABOUT("LMR_SYNC_R-05");
		MUST_RET(kit_read(p.a.ep, kit_seg(&own, 0, SIZE), kit_target(&buf, 0, SIZE), seed,
				  DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
		kit_dto(p.a.request, p.a.ep, seed, DAT_DTO_SUCCESS);
		CHECK_THAT(kit_buf_filled(&own, 0, SIZE, seed));
	}
}

CLAUSE_PASSIVE("LMR_SYNC_W-04", "LMR_SYNC_W-05")
{
	struct kit_buf own = kit_buf_a(SIZE, KIT_LOCAL), buf = kit_buf(SIZE, KIT_REMOTE);
	DAT_LMR_TRIPLET seg = kit_seg(&buf, 0, SIZE);
	struct kit_pair p;

	kit_pair(&p, NULL);
	for (unsigned int seed = 0; seed < 10; seed++) {
		kit_buf_fill(&own, 0, SIZE, seed);
		ABOUT("LMR_SYNC_W-05");
		MUST_RET(kit_write(p.a.ep, kit_seg(&own, 0, SIZE), kit_target(&buf, 0, SIZE), seed,
				   DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
		kit_dto(p.a.request, p.a.ep, seed, DAT_DTO_SUCCESS);
		/* the message shows that the write before it has arrived at b */
		kit_exchange(&p.a, &p.b);
		MUST_RET(dat_lmr_sync_rdma_write(t.ia, &seg, 1), DAT_SUCCESS);
		CHECK_THAT(kit_filled(buf.mem, SIZE, seed));
		ABOUT("LMR_SYNC_W-04");
		CHECK_RET(dat_lmr_sync_rdma_write(t.ia, &seg, 1), DAT_SUCCESS);
		CHECK_THAT(kit_filled(buf.mem, SIZE, seed));
	}
}

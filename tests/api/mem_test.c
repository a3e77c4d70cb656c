/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Protection zones and local memory regions: what they cover, which endpoints may use them, when
 * they can be freed.
 */
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "api.h"

#define SIZE ((size_t)16384)

static struct api_pair pair;
static struct api_buf buf;

static void open_pair(void)
{
	api_open();
	api_pair_make(&pair, NULL);
	buf = api_buf(SIZE, DAT_MEM_PRIV_ALL_FLAG);
}

static DAT_RETURN lmr(DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION region, DAT_VLEN length,
		      DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS privileges, struct api_buf *made)
{
	DAT_VADDR address;
	DAT_VLEN size;

	return dat_lmr_create(api.ia, type, region, length, pz, privileges, &made->lmr,
			      &made->lmr_context, &made->rmr_context, &size, &address);
}

static DAT_RETURN lmr_of(void *mem, size_t length, DAT_MEM_PRIV_FLAGS privileges)
{
	DAT_REGION_DESCRIPTION region = { .for_va = mem };
	struct api_buf made;

	return lmr(DAT_MEM_TYPE_VIRTUAL, region, length, api.pz, privileges, &made);
}

/*
 * Checks a local fault: the post is refused, or the completion reports the fault; one of the two,
 * never both. The posts of this test use the request EVD of end a, or its receive EVD.
 */
static void want_local_fault(DAT_RETURN ret, DAT_RETURN wanted, DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	if (ret != DAT_SUCCESS) {
		DAT_RETURN type = DAT_GET_TYPE(ret);

		CHECK(type == wanted || type == DAT_PRIVILEGES_VIOLATION ||
		      type == DAT_PROTECTION_VIOLATION);
		API_EMPTY(evd);
		return;
	}
	API_EVENT(evd, &event);
	CHECK_EQ_INT(event.event_data.dto_completion_event_data.status,
		     DAT_DTO_ERR_LOCAL_PROTECTION);
}

static void want_remote_access(uint64_t cookie)
{
	API_REFUSED(&pair.a, cookie);
	API_CONN_OVER(pair.b.connect, pair.b.ep);
}

static void reconnect(void)
{
	REQUIRE_DAT(dat_ep_reset(pair.a.ep), DAT_SUCCESS);
	REQUIRE_DAT(dat_ep_reset(pair.b.ep), DAT_SUCCESS);
	api_pair_connect(&pair);
}

static void pz_tells_its_ia(void)
{
	DAT_PZ_HANDLE pz = api_pz();
	DAT_PZ_PARAM param;

	REQUIRE_DAT(dat_pz_query(pz, DAT_PZ_FIELD_ALL, &param), DAT_SUCCESS);
	CHECK(param.ia_handle == api.ia);
	CHECK_DAT(dat_pz_query(pz, (DAT_PZ_PARAM_MASK)2, &param), DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_pz_query(pz, DAT_PZ_FIELD_ALL, NULL), DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_pz_create(api.ia, NULL), DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_pz_free(pz), DAT_SUCCESS);
	CHECK_DAT(dat_pz_free(pz), DAT_INVALID_HANDLE);
}

static void pz_free_is_refused_while_something_uses_it(void)
{
	DAT_SRQ_ATTR srq_attr = { .max_recv_dtos = 4, .max_recv_iov = 1 };
	DAT_PZ_HANDLE pz = api_pz();
	struct api_buf region = api_buf_in(pz, api_memory(4096), 4096, DAT_MEM_PRIV_ALL_FLAG);
	DAT_RMR_HANDLE rmr;
	DAT_SRQ_HANDLE srq;
	DAT_EP_HANDLE ep;

	CHECK_DAT(dat_pz_free(pz), DAT_INVALID_STATE);
	CHECK_DAT(dat_lmr_free(region.lmr), DAT_SUCCESS);
	REQUIRE_DAT(dat_rmr_create(pz, &rmr), DAT_SUCCESS);
	CHECK_DAT(dat_pz_free(pz), DAT_INVALID_STATE);
	CHECK_DAT(dat_rmr_free(rmr), DAT_SUCCESS);
	REQUIRE_DAT(
		dat_ep_create(api.ia, pz, pair.a.recv, pair.a.request, pair.a.connect, NULL, &ep),
		DAT_SUCCESS);
	CHECK_DAT(dat_pz_free(pz), DAT_INVALID_STATE);
	CHECK_DAT(dat_ep_free(ep), DAT_SUCCESS);
	if (api.prov.srq_supported) {
		REQUIRE_DAT(dat_srq_create(api.ia, pz, &srq_attr, &srq), DAT_SUCCESS);
		CHECK_DAT(dat_pz_free(pz), DAT_INVALID_STATE);
		CHECK_DAT(dat_srq_free(srq), DAT_SUCCESS);
	}
	CHECK_DAT(dat_pz_free(pz), DAT_SUCCESS);
}

static void region_covers_what_was_asked_for_and_query_tells_all(void)
{
	unsigned char *mem = api_memory(SIZE);
	DAT_REGION_DESCRIPTION region = { .for_va = mem + 3 };
	DAT_LMR_PARAM param;
	DAT_LMR_CONTEXT lmr_context = 0;
	DAT_RMR_CONTEXT rmr_context = 0;
	DAT_LMR_HANDLE handle = DAT_HANDLE_NULL;
	DAT_VADDR address = 0, start = (uintptr_t)mem + 3;
	DAT_VLEN size = 0;

	REQUIRE_DAT(dat_lmr_create(api.ia, DAT_MEM_TYPE_VIRTUAL, region, 1001, api.pz,
				   DAT_MEM_PRIV_ALL_FLAG, &handle, &lmr_context, &rmr_context,
				   &size, &address),
		    DAT_SUCCESS);
	CHECK(address <= start && address + size >= start + 1001);
	memset(&param, 0xa5, sizeof(param));
	REQUIRE_DAT(dat_lmr_query(handle, DAT_LMR_FIELD_ALL, &param), DAT_SUCCESS);
	CHECK(param.ia_handle == api.ia && param.pz_handle == api.pz);
	CHECK_EQ_INT(param.mem_type, DAT_MEM_TYPE_VIRTUAL);
	CHECK(param.region_desc.for_va == mem + 3);
	CHECK_EQ_INT(param.length, 1001);
	CHECK_EQ_INT(param.mem_priv, DAT_MEM_PRIV_ALL_FLAG);
	CHECK_EQ_INT(param.lmr_context, lmr_context);
	CHECK_EQ_INT(param.rmr_context, rmr_context);
	CHECK_EQ_INT(param.registered_size, size);
	CHECK_EQ_INT(param.registered_address, address);
	for (int bit = 1; bit < DAT_LMR_FIELD_ALL; bit <<= 1)
		CHECK_DAT(dat_lmr_query(handle, (DAT_LMR_PARAM_MASK)bit, &param), DAT_SUCCESS);
	CHECK_DAT(dat_lmr_query(handle, (DAT_LMR_PARAM_MASK)(DAT_LMR_FIELD_ALL + 1), &param),
		  DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_lmr_query(handle, DAT_LMR_FIELD_ALL, NULL), DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_lmr_free(handle), DAT_SUCCESS);
	CHECK_DAT(dat_lmr_query(handle, DAT_LMR_FIELD_ALL, &param), DAT_INVALID_HANDLE);
	CHECK_DAT(dat_lmr_free(handle), DAT_INVALID_HANDLE);
	mem[1000] = 1; /* the memory is the consumer's own, as before */
}

static void length_of_zero_is_a_length_error(void)
{
	CHECK_DAT(lmr_of(buf.mem, 0, DAT_MEM_PRIV_ALL_FLAG), DAT_LENGTH_ERROR);
}

static void create_refuses_bad_arguments(void)
{
	DAT_REGION_DESCRIPTION region = { .for_va = buf.mem };
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
	struct api_buf made;
	DAT_VADDR address;
	DAT_RETURN ret;
	DAT_VLEN size;

	CHECK_DAT(lmr_of(buf.mem, SIZE, (DAT_MEM_PRIV_FLAGS)0x100), DAT_INVALID_PARAMETER);
	CHECK_DAT(lmr_of(buf.mem, SIZE, (DAT_MEM_PRIV_FLAGS)0x4), DAT_INVALID_PARAMETER);
	CHECK(lmr_of(buf.mem, SIZE_MAX - 10, DAT_MEM_PRIV_ALL_FLAG) != DAT_SUCCESS);
	ret = DAT_GET_TYPE(
		lmr((DAT_MEM_TYPE)77, region, SIZE, api.pz, DAT_MEM_PRIV_ALL_FLAG, &made));
	CHECK(ret == DAT_MODEL_NOT_SUPPORTED || ret == DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_lmr_create(api.ia, DAT_MEM_TYPE_VIRTUAL, region, SIZE, api.pz,
				 DAT_MEM_PRIV_ALL_FLAG, NULL, &lmr_context, &rmr_context, &size,
				 &address),
		  DAT_INVALID_PARAMETER);
}

static void memory_that_is_not_there_is_refused(void)
{
	unsigned char *mem =
		mmap(NULL, 4 * SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	DAT_RETURN ret;

	REQUIRE(mem != MAP_FAILED);
	REQUIRE(munmap(mem + SIZE, SIZE) == 0);
	REQUIRE(mprotect(mem + 3 * SIZE, SIZE, PROT_NONE) == 0);
	CHECK_DAT(lmr_of(mem + SIZE, SIZE, DAT_MEM_PRIV_ALL_FLAG), DAT_INVALID_PARAMETER);
	CHECK_DAT(lmr_of(mem + SIZE, 1, DAT_MEM_PRIV_LOCAL_READ_FLAG), DAT_INVALID_PARAMETER);
	CHECK_DAT(lmr_of(mem, SIZE + 1, DAT_MEM_PRIV_LOCAL_READ_FLAG), DAT_INVALID_PARAMETER);
	CHECK_DAT(lmr_of(mem, 3 * SIZE, DAT_MEM_PRIV_ALL_FLAG), DAT_INVALID_PARAMETER);
	ret = lmr_of(mem + 2 * SIZE, SIZE + 1, DAT_MEM_PRIV_LOCAL_READ_FLAG);
	/* for a device, the kernel pins existing memory, even if this process may not access it */
	CHECK(DAT_GET_TYPE(ret) == DAT_INVALID_PARAMETER ||
	      (api_over_verbs() && ret == DAT_SUCCESS));
	CHECK_DAT(lmr_of(mem, SIZE, DAT_MEM_PRIV_ALL_FLAG), DAT_SUCCESS);
	CHECK_DAT(lmr_of(mem + 2 * SIZE, SIZE, DAT_MEM_PRIV_ALL_FLAG), DAT_SUCCESS);
	munmap(mem, SIZE);
	munmap(mem + 2 * SIZE, 2 * SIZE);
}

static void memory_that_cannot_be_written_is_registered_for_reading_only(void)
{
	static const DAT_MEM_PRIV_FLAGS writes[] = { DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
						     DAT_MEM_PRIV_REMOTE_WRITE_FLAG,
						     DAT_MEM_PRIV_ALL_FLAG };
	struct api_buf ro = { .size = SIZE };

	ro.mem = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	REQUIRE(ro.mem != MAP_FAILED);
	api_fill(ro.mem, SIZE, 9);
	REQUIRE(mprotect(ro.mem, SIZE, PROT_READ) == 0);
	for (size_t i = 0; i < sizeof(writes) / sizeof(*writes); i++)
		CHECK_DAT(lmr_of(ro.mem, SIZE, writes[i]), DAT_INVALID_PARAMETER);
	ro = api_buf_in(api.pz, ro.mem, SIZE,
			DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_REMOTE_READ_FLAG);
	REQUIRE_DAT(api_recv(pair.b.ep, &buf, 0, SIZE, 1), DAT_SUCCESS);
	REQUIRE_DAT(api_send(pair.a.ep, &ro, 0, SIZE, 2, 0), DAT_SUCCESS);
	API_DTO(pair.b.recv, pair.b.ep, 1, DAT_DTO_SUCCESS, SIZE);
	CHECK_EQ_INT(api_mismatch(buf.mem, SIZE, 9), -1);
	munmap(ro.mem, SIZE);
}

static void mapping_beyond_the_end_of_its_file_is_refused(void)
{
	int fd = memfd_create("short", MFD_CLOEXEC);
	unsigned char *mem;

	REQUIRE(fd >= 0);
	REQUIRE(ftruncate(fd, (off_t)SIZE) == 0);
	mem = mmap(NULL, 2 * SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	REQUIRE(mem != MAP_FAILED);
	CHECK_DAT(lmr_of(mem, SIZE, DAT_MEM_PRIV_ALL_FLAG), DAT_SUCCESS);
	CHECK_DAT(lmr_of(mem, 2 * SIZE, DAT_MEM_PRIV_ALL_FLAG), DAT_INVALID_PARAMETER);
	CHECK_DAT(lmr_of(mem + SIZE, 1, DAT_MEM_PRIV_ALL_FLAG), DAT_INVALID_PARAMETER);
	munmap(mem, 2 * SIZE);
}

/* A second region over the same bytes needs the rights itself. */
static void region_made_of_a_region_gets_no_right_that_the_memory_lacks(void)
{
	struct api_buf ro = { .size = SIZE }, child = ro;
	DAT_REGION_DESCRIPTION region = { 0 };

	ro.mem = mmap(NULL, SIZE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	REQUIRE(ro.mem != MAP_FAILED);
	ro = api_buf_in(api.pz, ro.mem, SIZE, DAT_MEM_PRIV_LOCAL_READ_FLAG);
	region.for_lmr_handle = ro.lmr;
	CHECK_DAT(lmr(DAT_MEM_TYPE_LMR, region, SIZE, api.pz, DAT_MEM_PRIV_ALL_FLAG, &child),
		  DAT_INVALID_PARAMETER);
	CHECK_DAT(lmr(DAT_MEM_TYPE_LMR, region, SIZE, api.pz, DAT_MEM_PRIV_LOCAL_READ_FLAG, &child),
		  DAT_SUCCESS);
	munmap(ro.mem, SIZE);
}

static void rmr_context_is_none_without_remote_privileges(void)
{
	static const DAT_MEM_PRIV_FLAGS local[] = {
		DAT_MEM_PRIV_NONE_FLAG, DAT_MEM_PRIV_LOCAL_READ_FLAG, DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
		DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG
	};

	for (size_t i = 0; i < sizeof(local) / sizeof(*local); i++)
		CHECK_EQ_INT(api_buf_in(api.pz, buf.mem, SIZE, local[i]).rmr_context, 0);
	CHECK(api_buf_in(api.pz, buf.mem, SIZE, DAT_MEM_PRIV_READ_FLAG).rmr_context != 0);
	CHECK(api_buf_in(api.pz, buf.mem, SIZE, DAT_MEM_PRIV_WRITE_FLAG).rmr_context != 0);
}

static void contexts_are_distinct_and_positive_though_regions_overlap(void)
{
	struct api_buf made[100];

	for (int i = 0; i < 100; i++) {
		made[i] = api_buf_in(api.pz, buf.mem + i * 7, 1000 + (size_t)i,
				     DAT_MEM_PRIV_ALL_FLAG);
		CHECK(made[i].lmr_context > 0 && made[i].lmr_context < 0x80000000u);
		CHECK(made[i].rmr_context > 0 && made[i].rmr_context < 0x80000000u);
		for (int k = 0; k < i; k++)
			CHECK(made[k].lmr_context != made[i].lmr_context);
	}
	for (int i = 0; i < 100; i++)
		CHECK_DAT(dat_lmr_free(made[i].lmr), DAT_SUCCESS);
}

static void send_of(const struct api_buf *from, size_t offset, size_t length)
{
	REQUIRE_DAT(api_recv(pair.b.ep, &buf, 8192, 4096, 1), DAT_SUCCESS);
	api_fill(from->mem + offset, length, 5);
	REQUIRE_DAT(api_send(pair.a.ep, from, offset, length, 2, 0), DAT_SUCCESS);
	API_DTO(pair.b.recv, pair.b.ep, 1, DAT_DTO_SUCCESS, length);
	API_DTO(pair.a.request, pair.a.ep, 2, DAT_DTO_SUCCESS, length);
	CHECK_EQ_INT(api_mismatch(buf.mem + 8192, length, 5), -1);
}

static void odd_addresses_and_lengths_carry_data(void)
{
	unsigned char *mem = api_memory(8192);

	for (size_t i = 1; i < 20; i += 3) {
		struct api_buf odd =
			api_buf_in(api.pz, mem + i, 1000 + 2 * i + 1, DAT_MEM_PRIV_ALL_FLAG);

		send_of(&odd, 0, odd.size);
		send_of(&odd, i, 501);
	}
}

static void region_made_of_a_region_has_a_pz_of_its_own(void)
{
	DAT_REGION_DESCRIPTION region = { .for_lmr_handle = buf.lmr };
	struct api_buf child = { .mem = buf.mem, .size = SIZE };
	DAT_PZ_HANDLE pz = api_pz();
	DAT_LMR_PARAM param;

	REQUIRE_DAT(lmr(DAT_MEM_TYPE_LMR, region, 1, pz, DAT_MEM_PRIV_ALL_FLAG, &child),
		    DAT_SUCCESS);
	REQUIRE_DAT(dat_lmr_query(child.lmr, DAT_LMR_FIELD_ALL, &param), DAT_SUCCESS);
	CHECK(param.pz_handle == pz);
	CHECK_EQ_INT(param.mem_type, DAT_MEM_TYPE_LMR);
	CHECK(param.registered_address <= (uintptr_t)buf.mem);
	CHECK(param.registered_address + param.registered_size >= (uintptr_t)buf.mem + SIZE);
	CHECK(child.lmr_context != buf.lmr_context);
	want_local_fault(api_send(pair.a.ep, &child, 0, 100, 1, 0), DAT_PROTECTION_VIOLATION,
			 pair.a.request);
}

static void wrong_local_segments_are_refused_by_what_is_wrong(void)
{
	struct api_buf gone = api_buf(4096, DAT_MEM_PRIV_ALL_FLAG);
	struct api_buf barred = api_buf(4096, DAT_MEM_PRIV_NONE_FLAG);
	struct api_buf readable = api_buf(4096, DAT_MEM_PRIV_LOCAL_READ_FLAG);

	REQUIRE_DAT(dat_lmr_free(gone.lmr), DAT_SUCCESS);
	gone.lmr = DAT_HANDLE_NULL;
	CHECK_DAT(api_send(pair.a.ep, &gone, 0, 100, 1, 0),
		  DAT_PRIVILEGES_VIOLATION | DAT_PRIVILEGES_READ);
	CHECK_DAT(api_recv(pair.a.ep, &gone, 0, 100, 1),
		  DAT_PRIVILEGES_VIOLATION | DAT_PRIVILEGES_WRITE);
	CHECK_DAT(api_send(pair.a.ep, &barred, 0, 100, 1, 0),
		  DAT_PRIVILEGES_VIOLATION | DAT_PRIVILEGES_READ);
	CHECK_DAT(api_recv(pair.a.ep, &readable, 0, 100, 1),
		  DAT_PRIVILEGES_VIOLATION | DAT_PRIVILEGES_WRITE);
	CHECK_DAT(api_send(pair.a.ep, &readable, 4000, 100, 1, 0),
		  DAT_INVALID_PARAMETER | DAT_INVALID_ARG3);
	API_EMPTY(pair.a.request);
	API_EMPTY(pair.a.recv);
}

static void region_made_of_a_region_outlives_it_or_holds_it(void)
{
	struct api_buf parent = api_buf(4096, DAT_MEM_PRIV_ALL_FLAG), child = parent;
	DAT_REGION_DESCRIPTION region = { .for_lmr_handle = parent.lmr };
	DAT_RETURN ret;

	REQUIRE_DAT(lmr(DAT_MEM_TYPE_LMR, region, 4096, api.pz, DAT_MEM_PRIV_ALL_FLAG, &child),
		    DAT_SUCCESS);
	ret = dat_lmr_free(parent.lmr);
	if (ret != DAT_SUCCESS)
		CHECK_DAT(ret, DAT_INVALID_STATE);
	send_of(&child, 100, 1000);
	CHECK_DAT(dat_lmr_free(child.lmr), DAT_SUCCESS);
}

static void shared_region_is_registered_by_its_cookie(void)
{
	char cookie[DAT_LMR_COOKIE_SIZE] = "a cookie", other[DAT_LMR_COOKIE_SIZE] = "a cookie";
	void *mem = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	DAT_REGION_DESCRIPTION region = { 0 };
	struct api_buf one = { .mem = mem, .size = 4096 }, two = one, three = one;

	REQUIRE(mem != MAP_FAILED);
	other[DAT_LMR_COOKIE_SIZE - 1] = 'x'; /* all 40 bytes count, because it is not a string */
	region.for_shared_memory.virtual_address = mem;
	region.for_shared_memory.shared_memory_id = &cookie;
	REQUIRE_DAT(
		lmr(DAT_MEM_TYPE_SHARED_VIRTUAL, region, 4096, api.pz, DAT_MEM_PRIV_ALL_FLAG, &one),
		DAT_SUCCESS);
	REQUIRE_DAT(
		lmr(DAT_MEM_TYPE_SHARED_VIRTUAL, region, 4096, api.pz, DAT_MEM_PRIV_ALL_FLAG, &two),
		DAT_SUCCESS);
	region.for_shared_memory.shared_memory_id = &other;
	REQUIRE_DAT(lmr(DAT_MEM_TYPE_SHARED_VIRTUAL, region, 4096, api.pz, DAT_MEM_PRIV_ALL_FLAG,
			&three),
		    DAT_SUCCESS);
	send_of(&one, 0, 1000);
	CHECK_DAT(dat_lmr_free(one.lmr), DAT_SUCCESS);
	send_of(&two, 10, 1000);
	send_of(&three, 20, 1000);
	CHECK_DAT(dat_lmr_free(two.lmr), DAT_SUCCESS);
	CHECK_DAT(dat_lmr_free(three.lmr), DAT_SUCCESS);
	munmap(mem, 4096);
}

static void segment_beyond_the_region_is_an_invalid_parameter(void)
{
	struct api_buf part = api_buf_in(api.pz, buf.mem + 4096, 4096, DAT_MEM_PRIV_ALL_FLAG);
	DAT_RMR_TRIPLET to = api_target(&buf, 0, 8192);
	DAT_LMR_TRIPLET bad[4];

	/*
	 * The provider may have registered more than was requested, but never a page before or
	 * after it.
	 */
	bad[0] = api_seg(&part, 0, 4096 + 8192);
	bad[1] = api_seg(&part, (size_t)-8192, 10);
	bad[2] = api_seg(&part, 4096 + 4096, 1);
	bad[3] = api_seg(&part, 1, (size_t)-1);
	for (int i = 0; i < 4; i++) {
		CHECK_DAT(dat_ep_post_send(pair.a.ep, 1, &bad[i], api_cookie(1), 0),
			  DAT_INVALID_PARAMETER);
		CHECK_DAT(dat_ep_post_recv(pair.a.ep, 1, &bad[i], api_cookie(1), 0),
			  DAT_INVALID_PARAMETER);
		to.segment_length = bad[i].segment_length;
		CHECK(dat_ep_post_rdma_write(pair.a.ep, 1, &bad[i], api_cookie(1), &to, 0) !=
		      DAT_SUCCESS);
		CHECK(dat_ep_post_rdma_read(pair.a.ep, 1, &bad[i], api_cookie(1), &to, 0) !=
		      DAT_SUCCESS);
	}
	API_EMPTY(pair.a.request);
	API_EMPTY(pair.a.recv);
	send_of(&part, 96, 4000);
}

static void segment_one_byte_beyond_the_registered_end_is_refused(void)
{
	DAT_LMR_PARAM param;
	DAT_LMR_TRIPLET seg;

	REQUIRE_DAT(dat_lmr_query(buf.lmr, DAT_LMR_FIELD_ALL, &param), DAT_SUCCESS);
	seg = (DAT_LMR_TRIPLET){ .lmr_context = buf.lmr_context,
				 .segment_length = 2,
				 .virtual_address =
					 param.registered_address + param.registered_size - 1 };
	CHECK_DAT(dat_ep_post_send(pair.a.ep, 1, &seg, api_cookie(1), 0), DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_ep_post_recv(pair.a.ep, 1, &seg, api_cookie(1), 0), DAT_INVALID_PARAMETER);
	seg.virtual_address = param.registered_address - 1;
	CHECK_DAT(dat_ep_post_send(pair.a.ep, 1, &seg, api_cookie(1), 0), DAT_INVALID_PARAMETER);
}

static void region_of_another_pz_is_a_protection_violation(void)
{
	struct api_buf other = api_buf_in(api_pz(), buf.mem, SIZE, DAT_MEM_PRIV_ALL_FLAG);
	DAT_RMR_TRIPLET to = api_target(&buf, 8192, 64);

	want_local_fault(api_send(pair.a.ep, &other, 0, 64, 1, 0), DAT_PROTECTION_VIOLATION,
			 pair.a.request);
	if (api_state(pair.a.ep) != DAT_EP_STATE_CONNECTED)
		return; /* reported by the completion, which ends the connection */
	want_local_fault(api_write(pair.a.ep, api_seg(&other, 0, 64), to, 1, 0),
			 DAT_PROTECTION_VIOLATION, pair.a.request);
	want_local_fault(api_read(pair.a.ep, api_seg(&other, 0, 64), to, 1, 0),
			 DAT_PROTECTION_VIOLATION, pair.a.request);
	CHECK_DAT(api_recv(pair.a.ep, &other, 0, 64, 1), DAT_PROTECTION_VIOLATION);
}

static void region_that_may_not_be_written_takes_no_data(void)
{
	struct api_buf ro =
		api_buf_in(api.pz, api_memory(4096), 4096, DAT_MEM_PRIV_LOCAL_READ_FLAG);
	DAT_RETURN ret = api_recv(pair.b.ep, &ro, 0, 64, 1);

	if (ret == DAT_SUCCESS) {
		REQUIRE_DAT(api_send(pair.a.ep, &buf, 0, 64, 2, 0), DAT_SUCCESS);
		API_DTO(pair.b.recv, pair.b.ep, 1, DAT_DTO_ERR_LOCAL_PROTECTION, API_ANY_LENGTH);
		return;
	}
	CHECK_DAT(ret, DAT_PRIVILEGES_VIOLATION);
	want_local_fault(api_read(pair.a.ep, api_seg(&ro, 0, 64), api_target(&buf, 0, 64), 1, 0),
			 DAT_PRIVILEGES_VIOLATION, pair.a.request);
	for (int i = 0; i < 4096; i++)
		CHECK(ro.mem[i] == 0);
}

static void freed_region_is_good_for_nothing(void)
{
	struct api_buf gone = api_buf(4096, DAT_MEM_PRIV_ALL_FLAG), again;

	CHECK_DAT(dat_lmr_free(gone.lmr), DAT_SUCCESS);
	want_local_fault(api_send(pair.a.ep, &gone, 0, 64, 1, 0), DAT_PROTECTION_VIOLATION,
			 pair.a.request);
	if (api_state(pair.a.ep) != DAT_EP_STATE_CONNECTED)
		return;
	again = api_buf_in(api.pz, gone.mem, 4096, DAT_MEM_PRIV_ALL_FLAG);
	CHECK(again.lmr_context != gone.lmr_context && again.rmr_context != gone.rmr_context);
	want_local_fault(api_send(pair.a.ep, &gone, 0, 64, 1, 0), DAT_PROTECTION_VIOLATION,
			 pair.a.request);
	send_of(&again, 0, 100);
}

/*
 * A provider may remember the last regions, and still has to refuse a segment that is outside of
 * them.
 */
static void region_that_was_just_used_is_guarded_as_before(void)
{
	unsigned char *mem = api_memory(12288);
	struct api_buf used = api_buf_in(api.pz, mem + 4096, 4096, DAT_MEM_PRIV_ALL_FLAG);
	struct api_buf readonly = api_buf_in(api.pz, mem, 4096, DAT_MEM_PRIV_LOCAL_READ_FLAG);
	const DAT_VADDR at = api_seg(&used, 0, 64).virtual_address;
	const DAT_LMR_TRIPLET bad[] = {
		{ .virtual_address = at - 1, .segment_length = 64 },
		{ .virtual_address = at + 4096 - 63, .segment_length = 64 },
		{ .virtual_address = at, .segment_length = 4097 },
		{ .virtual_address = at + (UINT64_C(1) << 63), .segment_length = 64 },
		{ .virtual_address = UINT64_MAX - 31, .segment_length = 64 },
		{ .virtual_address = at, .segment_length = UINT64_MAX },
	};

	send_of(&used, 0, 64);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		DAT_LMR_TRIPLET seg = bad[i];

		send_of(&used, 4096 - 64, 64);
		seg.lmr_context = used.lmr_context;
		want_local_fault(dat_ep_post_send(pair.a.ep, 1, &seg, (DAT_DTO_COOKIE){ .as_64 = 1 },
						  DAT_COMPLETION_DEFAULT_FLAG),
				 DAT_INVALID_PARAMETER, pair.a.request);
		if (api_state(pair.a.ep) != DAT_EP_STATE_CONNECTED)
			return;
	}
	/* memory without LOCAL_WRITE can be sent, but not received into */
	send_of(&readonly, 0, 64);
	CHECK_DAT(api_recv(pair.a.ep, &readonly, 0, 64, 1), DAT_PRIVILEGES_VIOLATION);
	send_of(&used, 0, 64);
	REQUIRE_DAT(dat_lmr_free(used.lmr), DAT_SUCCESS);
	want_local_fault(api_send(pair.a.ep, &used, 0, 64, 1, 0), DAT_PROTECTION_VIOLATION,
			 pair.a.request);
}

static void rdma_to_a_freed_region_is_a_remote_access_error(void)
{
	struct api_buf gone = api_buf(4096, DAT_MEM_PRIV_ALL_FLAG), again;

	CHECK_DAT(dat_lmr_free(gone.lmr), DAT_SUCCESS);
	again = api_buf_in(api.pz, gone.mem, 4096, DAT_MEM_PRIV_ALL_FLAG);
	api_fill(buf.mem, 64, 3);
	REQUIRE_DAT(api_write(pair.a.ep, api_seg(&buf, 0, 64), api_target(&gone, 0, 64), 7, 0),
		    DAT_SUCCESS);
	want_remote_access(7);
	for (int i = 0; i < 64; i++)
		CHECK(gone.mem[i] == 0);
	reconnect();
	REQUIRE_DAT(api_write(pair.a.ep, api_seg(&buf, 0, 64), api_target(&again, 0, 64), 8, 0),
		    DAT_SUCCESS);
	API_DTO(pair.a.request, pair.a.ep, 8, DAT_DTO_SUCCESS, 64);
	/* over iWARP a write completes when it has been sent */
	CHECK_SOON(api_mismatch(gone.mem, 64, 3) == -1);
}

static void region_can_be_freed_while_connected_and_with_receives_posted(void)
{
	struct api_buf gone = api_buf(4096, DAT_MEM_PRIV_ALL_FLAG);
	DAT_DTO_COMPLETION_STATUS status;
	DAT_EVENT event;

	REQUIRE_DAT(api_recv(pair.b.ep, &gone, 0, 64, 1), DAT_SUCCESS);
	CHECK_DAT(dat_lmr_free(gone.lmr), DAT_SUCCESS);
	REQUIRE_DAT(api_send(pair.a.ep, &buf, 0, 64, 2, 0), DAT_SUCCESS);
	API_EVENT(pair.b.recv, &event);
	status = event.event_data.dto_completion_event_data.status;
	/* rxe and siw each have one status for all faults of a receive's memory */
	CHECK(status == DAT_DTO_ERR_LOCAL_PROTECTION ||
	      (api_over_verbs() && status != DAT_DTO_SUCCESS && status != DAT_DTO_ERR_FLUSHED));
	CHECK(gone.mem[0] == 0);
	API_CONN(pair.b.connect, pair.b.ep, DAT_CONNECTION_EVENT_BROKEN);
	API_CONN_OVER(pair.a.connect, pair.a.ep);
}

static void remote_faults(const struct api_buf *target, DAT_RMR_TRIPLET to, bool write)
{
	struct api_buf from = api_buf(16384, DAT_MEM_PRIV_ALL_FLAG);
	DAT_LMR_TRIPLET seg = api_seg(&from, 0, to.segment_length);

	memset(from.mem, 0x77, from.size);
	if (write)
		REQUIRE_DAT(api_write(pair.a.ep, seg, to, 9, 0), DAT_SUCCESS);
	else
		REQUIRE_DAT(api_read(pair.a.ep, seg, to, 9, 0), DAT_SUCCESS);
	want_remote_access(9);
	for (size_t i = 0; i < target->size; i++)
		REQUIRE(target->mem[i] == 0);
	reconnect();
}

static void rdma_beyond_bounds_rights_or_pz_is_a_remote_access_error(void)
{
	struct api_buf all = api_buf(4096, DAT_MEM_PRIV_ALL_FLAG);
	struct api_buf ro = api_buf_in(api.pz, all.mem, 4096, DAT_MEM_PRIV_READ_FLAG);
	struct api_buf wo = api_buf_in(api.pz, all.mem, 4096, DAT_MEM_PRIV_WRITE_FLAG);
	struct api_buf pz = api_buf_in(api_pz(), all.mem, 4096, DAT_MEM_PRIV_ALL_FLAG);
	DAT_RMR_TRIPLET none = api_target(&all, 0, 64);
	DAT_LMR_PARAM param;
	DAT_RMR_TRIPLET end;

	none.rmr_context = 0;
	REQUIRE_DAT(dat_lmr_query(all.lmr, DAT_LMR_FIELD_ALL, &param), DAT_SUCCESS);
	end = (DAT_RMR_TRIPLET){ .rmr_context = all.rmr_context,
				 .segment_length = 64,
				 .target_address =
					 param.registered_address + param.registered_size - 63 };
	for (int write = 0; write < 2; write++) {
		remote_faults(&all, end, write);
		end.target_address = param.registered_address - 1;
		remote_faults(&all, end, write);
		end.target_address = param.registered_address + param.registered_size - 63;
		if (write || !api_declares("read_right", "unchecked"))
			remote_faults(&all, api_target(write ? &ro : &wo, 0, 64), write);
		remote_faults(&all, api_target(&pz, 0, 64), write);
		remote_faults(&all, none, write);
		none.rmr_context = 0x7ffffff0;
		remote_faults(&all, none, write);
	}
}

static void sync_takes_segments_of_regions_and_refuses_others(void)
{
	struct api_buf other = api_buf_in(api_pz(), api_memory(4096), 4096, DAT_MEM_PRIV_ALL_FLAG);
	DAT_LMR_TRIPLET segs[2] = { api_seg(&buf, 10, 100), api_seg(&other, 20, 50) };

	CHECK_DAT(dat_lmr_sync_rdma_read(api.ia, segs, 2), DAT_SUCCESS);
	CHECK_DAT(dat_lmr_sync_rdma_write(api.ia, segs, 2), DAT_SUCCESS);
	segs[1].segment_length = 1 << 20;
	CHECK_DAT(dat_lmr_sync_rdma_read(api.ia, segs, 2), DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_lmr_sync_rdma_write(api.ia, segs, 2), DAT_INVALID_PARAMETER);
	segs[1].segment_length = 50;
	CHECK_DAT(dat_lmr_free(other.lmr), DAT_SUCCESS);
	CHECK_DAT(dat_lmr_sync_rdma_read(api.ia, segs, 2), DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_lmr_sync_rdma_write(api.ia, segs, 2), DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_lmr_sync_rdma_read(api.ia, NULL, 1), DAT_INVALID_PARAMETER);
}

/*
 * Two processes register one piece of shared memory under one cookie, and access it through each
 * other's region.
 */
static unsigned char *common;

static DAT_RETURN register_common(struct api_buf *made)
{
	char cookie[DAT_LMR_COOKIE_SIZE] = "common to both";
	DAT_REGION_DESCRIPTION region = { 0 };

	region.for_shared_memory.virtual_address = common;
	region.for_shared_memory.shared_memory_id = &cookie;
	*made = (struct api_buf){ .mem = common, .size = SIZE };
	return lmr(DAT_MEM_TYPE_SHARED_VIRTUAL, region, SIZE, api.pz, DAT_MEM_PRIV_ALL_FLAG, made);
}

static void share_too(void *arg)
{
	struct api_buf mine;

	(void)arg;
	api_open();
	api_pair_make(&pair, NULL);
	buf = api_buf(SIZE, DAT_MEM_PRIV_ALL_FLAG);
	CHECK_DAT(register_common(&mine), DAT_SUCCESS);
	check_await(CHECK_PARENT);
	/* What the other process wrote through its own region is here as well. */
	CHECK_EQ_INT(api_mismatch(common, 1000, 8), -1);
	REQUIRE_DAT(api_read(pair.a.ep, api_seg(&buf, 0, 1000), api_target(&mine, 0, 1000), 1, 0),
		    DAT_SUCCESS);
	API_DTO(pair.a.request, pair.a.ep, 1, DAT_DTO_SUCCESS, 1000);
	CHECK_EQ_INT(api_mismatch(buf.mem, 1000, 8), -1);
	CHECK_DAT(dat_lmr_free(mine.lmr), DAT_SUCCESS);
	check_signal(CHECK_PARENT);
	api_close();
}

static void shared_region_is_common_to_two_processes(void)
{
	struct api_buf mine;
	pid_t peer;

	common = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	REQUIRE(common != MAP_FAILED);
	peer = check_fork(share_too, NULL);
	open_pair();
	REQUIRE_DAT(register_common(&mine), DAT_SUCCESS);
	api_fill(buf.mem, 1000, 8);
	REQUIRE_DAT(api_write(pair.a.ep, api_seg(&buf, 0, 1000), api_target(&mine, 0, 1000), 1, 0),
		    DAT_SUCCESS);
	API_DTO(pair.a.request, pair.a.ep, 1, DAT_DTO_SUCCESS, 1000);
	check_signal(peer);
	check_await(peer);
	/* The free of the other region does not end this one. */
	REQUIRE_DAT(api_write(pair.a.ep, api_seg(&buf, 0, 64), api_target(&mine, 0, 64), 2, 0),
		    DAT_SUCCESS);
	API_DTO(pair.a.request, pair.a.ep, 2, DAT_DTO_SUCCESS, 64);
	check_join(peer);
	munmap(common, SIZE);
}

static const struct check_test tests[] = {
	CHECK_TEST(pz_tells_its_ia),
	CHECK_TEST(pz_free_is_refused_while_something_uses_it),
	CHECK_TEST(region_covers_what_was_asked_for_and_query_tells_all),
	CHECK_TEST(length_of_zero_is_a_length_error),
	CHECK_TEST(create_refuses_bad_arguments),
	CHECK_TEST(memory_that_is_not_there_is_refused),
	CHECK_TEST(memory_that_cannot_be_written_is_registered_for_reading_only),
	CHECK_TEST(mapping_beyond_the_end_of_its_file_is_refused),
	CHECK_TEST(region_made_of_a_region_gets_no_right_that_the_memory_lacks),
	CHECK_TEST(rmr_context_is_none_without_remote_privileges),
	CHECK_TEST(contexts_are_distinct_and_positive_though_regions_overlap),
	CHECK_TEST(odd_addresses_and_lengths_carry_data),
	CHECK_TEST(region_made_of_a_region_has_a_pz_of_its_own),
	CHECK_TEST(wrong_local_segments_are_refused_by_what_is_wrong),
	CHECK_TEST(region_made_of_a_region_outlives_it_or_holds_it),
	CHECK_TEST(shared_region_is_registered_by_its_cookie),
	CHECK_TEST(segment_beyond_the_region_is_an_invalid_parameter),
	CHECK_TEST(segment_one_byte_beyond_the_registered_end_is_refused),
	CHECK_TEST(region_of_another_pz_is_a_protection_violation),
	CHECK_TEST(region_that_may_not_be_written_takes_no_data),
	CHECK_TEST(freed_region_is_good_for_nothing),
	CHECK_TEST(region_that_was_just_used_is_guarded_as_before),
	CHECK_TEST(rdma_to_a_freed_region_is_a_remote_access_error),
	CHECK_TEST(region_can_be_freed_while_connected_and_with_receives_posted),
	CHECK_TEST(rdma_beyond_bounds_rights_or_pz_is_a_remote_access_error),
	CHECK_TEST(sync_takes_segments_of_regions_and_refuses_others),
	CHECK_END
};

static const struct check_suite mem = {
	.name = "mem",
	.setup = open_pair,
	.teardown = api_close,
	.tests = tests,
};

static const struct check_test shared_tests[] = {
	CHECK_TEST(shared_region_is_common_to_two_processes), CHECK_END
};

static const struct check_suite shared = {
	.name = "mem between processes",
	.teardown = api_close,
	.tests = shared_tests,
};

CHECK_SUITES(&mem, &shared);

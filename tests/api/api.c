/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The IA under test, and objects on it. Invariant: after api_close() nothing of the test is left in
 * this process, however the test ended.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "api.h"

#define MEMORIES 256
#define OTHERS	 8

struct api api;

/* What api_close() releases. */
static struct {
	struct {
		void *mem;
		size_t size;
	} memories[MEMORIES];
	int memory_count;
	DAT_IA_HANDLE others[OTHERS];
	int other_count;
} held;

char *api_ia_name(void)
{
	char *name = getenv("OPENDAT_TEST_IA");

	return name && *name ? name : "soft0";
}

DAT_TIMEOUT api_patience(void)
{
	return (DAT_TIMEOUT)check_patience_ms() * 1000;
}

void api_open_as(char *name)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;

	REQUIRE_DAT(dat_ia_open(name, 8, &async, &api.ia), DAT_SUCCESS);
	api.async = async;
	REQUIRE_DAT(dat_ia_query(api.ia, NULL, DAT_IA_FIELD_ALL, &api.attr, DAT_PROVIDER_FIELD_ALL,
				 &api.prov),
		    DAT_SUCCESS);
	REQUIRE_DAT(dat_pz_create(api.ia, &api.pz), DAT_SUCCESS);
}

void api_open(void)
{
	api_open_as(api_ia_name());
}

DAT_IA_HANDLE api_open_another(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia = DAT_HANDLE_NULL;

	REQUIRE(held.other_count < OTHERS);
	REQUIRE_DAT(dat_ia_open(api_ia_name(), 8, &async, &ia), DAT_SUCCESS);
	held.others[held.other_count++] = ia;
	return ia;
}

void api_close(void)
{
	DAT_IA_HANDLE ia = api.ia;

	/* A test may have closed the other instances itself. */
	while (held.other_count)
		dat_ia_close(held.others[--held.other_count], DAT_CLOSE_ABRUPT_FLAG);
	api.ia = DAT_HANDLE_NULL;
	if (ia)
		CHECK_DAT(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	while (held.memory_count) {
		held.memory_count--;
		munmap(held.memories[held.memory_count].mem, held.memories[held.memory_count].size);
	}
}

DAT_IA_ADDRESS_PTR api_address(void)
{
	return api.attr.ia_address_ptr;
}

const char *api_transport(const char *name)
{
	for (DAT_COUNT i = 0; i < api.attr.num_transport_attr; i++)
		if (!strcmp(api.attr.transport_attr[i].name, name))
			return api.attr.transport_attr[i].value;
	return NULL;
}

bool api_declares(const char *name, const char *value)
{
	const char *declared = api_transport(name);

	return declared && !strcmp(declared, value);
}

bool api_over_verbs(void)
{
	return api_transport("device") != NULL;
}

bool api_nothing_waits(void)
{
	return api_declares("transport", "iWARP");
}

void api_skip_where_nothing_waits(void)
{
	if (api_nothing_waits())
		check_skip("in iWARP a message that finds no receive ends the connection");
}

void api_skip_where_any_message_wakes(void)
{
	if (api_declares("solicited", "unknown"))
		check_skip("the device does not know solicited messages from others");
}

int api_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	REQUIRE(dir != NULL);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

DAT_EVD_HANDLE api_evd_cno(DAT_COUNT qlen, DAT_EVD_FLAGS flags, DAT_CNO_HANDLE cno)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;

	REQUIRE_DAT(dat_evd_create(api.ia, qlen, cno, flags, &evd), DAT_SUCCESS);
	return evd;
}

DAT_EVD_HANDLE api_evd(DAT_COUNT qlen, DAT_EVD_FLAGS flags)
{
	return api_evd_cno(qlen, flags, DAT_HANDLE_NULL);
}

DAT_CNO_HANDLE api_cno(void)
{
	DAT_CNO_HANDLE cno = DAT_HANDLE_NULL;

	REQUIRE_DAT(dat_cno_create(api.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno), DAT_SUCCESS);
	return cno;
}

DAT_PZ_HANDLE api_pz(void)
{
	DAT_PZ_HANDLE pz = DAT_HANDLE_NULL;

	REQUIRE_DAT(dat_pz_create(api.ia, &pz), DAT_SUCCESS);
	return pz;
}

static void end_queues(struct api_end *end)
{
	end->recv = api_evd(64, DAT_EVD_DTO_FLAG);
	end->request = api_evd(64, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);
	end->connect = api_evd(8, DAT_EVD_CONNECTION_FLAG);
}

void api_end_make(struct api_end *end, const DAT_EP_ATTR *attr)
{
	end_queues(end);
	REQUIRE_DAT(dat_ep_create(api.ia, api.pz, end->recv, end->request, end->connect, attr,
				  &end->ep),
		    DAT_SUCCESS);
}

void api_end_make_shared(struct api_end *end, DAT_SRQ_HANDLE srq, const DAT_EP_ATTR *attr)
{
	end_queues(end);
	REQUIRE_DAT(dat_ep_create_with_srq(api.ia, api.pz, end->recv, end->request, end->connect,
					   srq, attr, &end->ep),
		    DAT_SUCCESS);
}

void api_end_free(struct api_end *end)
{
	CHECK_DAT(dat_ep_free(end->ep), DAT_SUCCESS);
	CHECK_DAT(dat_evd_free(end->recv), DAT_SUCCESS);
	CHECK_DAT(dat_evd_free(end->request), DAT_SUCCESS);
	CHECK_DAT(dat_evd_free(end->connect), DAT_SUCCESS);
}

static void *memory_hold(void *mem, size_t size)
{
	REQUIRE(mem != MAP_FAILED && held.memory_count < MEMORIES);
	held.memories[held.memory_count].mem = mem;
	held.memories[held.memory_count++].size = size;
	return mem;
}

void *api_memory(size_t size)
{
	return memory_hold(mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), size);
}

void *api_mappable_memory(size_t size)
{
	int fd = memfd_create("opendat-test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	void *mem;

	REQUIRE(fd >= 0);
	REQUIRE(ftruncate(fd, (off_t)size) == 0);
	REQUIRE(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) == 0);
	mem = memory_hold(mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), size);
	close(fd);
	return mem;
}

struct api_buf api_buf_in(DAT_PZ_HANDLE pz, void *mem, size_t size, DAT_MEM_PRIV_FLAGS privileges)
{
	struct api_buf buf = { .mem = mem, .size = size };
	DAT_REGION_DESCRIPTION region = { .for_va = mem };
	DAT_VLEN registered;
	DAT_VADDR address;

	REQUIRE_DAT(dat_lmr_create(api.ia, DAT_MEM_TYPE_VIRTUAL, region, size, pz, privileges,
				   &buf.lmr, &buf.lmr_context, &buf.rmr_context, &registered,
				   &address),
		    DAT_SUCCESS);
	return buf;
}

struct api_buf api_buf(size_t size, DAT_MEM_PRIV_FLAGS privileges)
{
	return api_buf_in(api.pz, api_memory(size), size, privileges);
}

DAT_PSP_HANDLE api_listen(DAT_EVD_HANDLE cr_evd, DAT_PSP_FLAGS flags, DAT_CONN_QUAL *qual)
{
	DAT_PSP_HANDLE psp = DAT_HANDLE_NULL;

	REQUIRE_DAT(dat_psp_create_any(api.ia, qual, cr_evd, flags, &psp), DAT_SUCCESS);
	return psp;
}

/*
 * Returns a qualifier on which no program listens. It contains the process number; if the adapter
 * does not support such a number, it chooses one that is free at the moment.
 */
DAT_CONN_QUAL api_free_qual(DAT_EVD_HANDLE cr_evd)
{
	static uint32_t last;
	DAT_CONN_QUAL qual = ((DAT_CONN_QUAL)getpid() << 32) + ++last;
	DAT_PSP_HANDLE psp;

	if (dat_psp_create(api.ia, qual, cr_evd, DAT_PSP_CONSUMER_FLAG, &psp) != DAT_SUCCESS)
		psp = api_listen(cr_evd, DAT_PSP_CONSUMER_FLAG, &qual);
	REQUIRE_DAT(dat_psp_free(psp), DAT_SUCCESS);
	return qual;
}

DAT_RETURN api_connect(DAT_EP_HANDLE ep, DAT_CONN_QUAL qual)
{
	return dat_ep_connect(ep, api_address(), qual, api_patience(), 0, NULL, DAT_QOS_BEST_EFFORT,
			      DAT_CONNECT_DEFAULT_FLAG);
}

DAT_CR_HANDLE api_cr(DAT_EVD_HANDLE cr_evd)
{
	DAT_EVENT event;

	API_EVENT(cr_evd, &event);
	REQUIRE_EQ_INT(event.event_number, DAT_CONNECTION_REQUEST_EVENT);
	return event.event_data.cr_arrival_event_data.cr_handle;
}

/* Makes an offer for another process, and listens. */
void api_offer_make(struct api_offer *offer, DAT_EVD_HANDLE cr_evd, const struct api_buf *buf)
{
	memset(offer, 0, sizeof(*offer)); /* the struct is sent, with the padding between its members */
	api_listen(cr_evd, DAT_PSP_CONSUMER_FLAG, &offer->qual);
	memcpy(&offer->address, api_address(), sizeof(offer->address));
	if (buf)
		offer->target = api_target(buf, 0, buf->size);
}

DAT_RETURN api_offer_connect(DAT_EP_HANDLE ep, const struct api_offer *offer, DAT_TIMEOUT timeout)
{
	return dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)(uintptr_t)&offer->address, offer->qual,
			      timeout, 0, NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

DAT_RMR_TRIPLET api_offer_part(const struct api_offer *offer, size_t offset, size_t length)
{
	DAT_RMR_TRIPLET part = offer->target;

	part.target_address += offset;
	part.segment_length = length;
	return part;
}

void api_connect_to(struct api_end *end, const struct sockaddr_in *address, DAT_CONN_QUAL qual)
{
	struct api_offer offer = { .address = *address, .qual = qual };

	REQUIRE_DAT(api_offer_connect(end->ep, &offer, api_patience()), DAT_SUCCESS);
	API_CONN(end->connect, end->ep, DAT_CONNECTION_EVENT_ESTABLISHED);
}

void api_pair_connect(struct api_pair *pair)
{
	REQUIRE_DAT(api_connect(pair->a.ep, pair->qual), DAT_SUCCESS);
	REQUIRE_DAT(dat_cr_accept(api_cr(pair->cr_evd), pair->b.ep, 0, NULL), DAT_SUCCESS);
	API_CONN(pair->b.connect, pair->b.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	API_CONN(pair->a.connect, pair->a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
}

void api_pair_make(struct api_pair *pair, const DAT_EP_ATTR *attr)
{
	api_end_make(&pair->a, attr);
	api_end_make(&pair->b, attr);
	api_pair_meet(pair);
}

void api_pair_meet(struct api_pair *pair)
{
	pair->cr_evd = api_evd(8, DAT_EVD_CR_FLAG);
	pair->psp = api_listen(pair->cr_evd, DAT_PSP_CONSUMER_FLAG, &pair->qual);
	api_pair_connect(pair);
}

void api_disconnect(struct api_pair *pair)
{
	REQUIRE_DAT(dat_ep_disconnect(pair->a.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	API_CONN(pair->a.connect, pair->a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	API_CONN(pair->b.connect, pair->b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
}

void api_pair_works(const struct api_pair *pair, const struct api_buf *buf)
{
	REQUIRE_DAT(api_recv(pair->b.ep, buf, 0, 100, 1), DAT_SUCCESS);
	REQUIRE_DAT(api_send(pair->a.ep, buf, 200, 100, 2, 0), DAT_SUCCESS);
	API_DTO(pair->b.recv, pair->b.ep, 1, DAT_DTO_SUCCESS, 100);
	API_DTO(pair->a.request, pair->a.ep, 2, DAT_DTO_SUCCESS, 100);
}

DAT_LMR_TRIPLET api_seg(const struct api_buf *buf, size_t offset, size_t length)
{
	return (DAT_LMR_TRIPLET){ .lmr_context = buf->lmr_context,
				  .virtual_address = (DAT_VADDR)(uintptr_t)buf->mem + offset,
				  .segment_length = length };
}

DAT_RMR_TRIPLET api_target(const struct api_buf *buf, size_t offset, size_t length)
{
	return (DAT_RMR_TRIPLET){ .rmr_context = buf->rmr_context,
				  .target_address = (DAT_VADDR)(uintptr_t)buf->mem + offset,
				  .segment_length = length };
}

DAT_DTO_COOKIE api_cookie(uint64_t number)
{
	return (DAT_DTO_COOKIE){ .as_64 = number };
}

DAT_RETURN api_recv(DAT_EP_HANDLE ep, const struct api_buf *buf, size_t offset, size_t length,
		    uint64_t cookie)
{
	DAT_LMR_TRIPLET seg = { 0 };

	if (!length)
		return dat_ep_post_recv(ep, 0, NULL, api_cookie(cookie),
					DAT_COMPLETION_DEFAULT_FLAG);
	seg = api_seg(buf, offset, length);
	return dat_ep_post_recv(ep, 1, &seg, api_cookie(cookie), DAT_COMPLETION_DEFAULT_FLAG);
}

DAT_RETURN api_send(DAT_EP_HANDLE ep, const struct api_buf *buf, size_t offset, size_t length,
		    uint64_t cookie, DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET seg = { 0 };

	if (!length)
		return dat_ep_post_send(ep, 0, NULL, api_cookie(cookie), flags);
	seg = api_seg(buf, offset, length);
	return dat_ep_post_send(ep, 1, &seg, api_cookie(cookie), flags);
}

DAT_RETURN api_write(DAT_EP_HANDLE ep, DAT_LMR_TRIPLET local, DAT_RMR_TRIPLET remote,
		     uint64_t cookie, DAT_COMPLETION_FLAGS flags)
{
	return dat_ep_post_rdma_write(ep, 1, &local, api_cookie(cookie), &remote, flags);
}

DAT_RETURN api_read(DAT_EP_HANDLE ep, DAT_LMR_TRIPLET local, DAT_RMR_TRIPLET remote,
		    uint64_t cookie, DAT_COMPLETION_FLAGS flags)
{
	return dat_ep_post_rdma_read(ep, 1, &local, api_cookie(cookie), &remote, flags);
}

/*
 * Returns the byte at a position. It depends on the position and the seed, so that a shift is found
 * as well.
 */
static unsigned char pattern(size_t at, uint64_t seed)
{
	uint64_t x =
		((uint64_t)(at >> 3) + 1) * 0x9E3779B97F4A7C15u ^ (seed + 1) * 0xD1342543DE82EF95u;

	return (unsigned char)((x ^ x >> 29) >> (at & 7) * 8);
}

void api_fill(void *mem, size_t size, uint64_t seed)
{
	unsigned char *at = mem;

	for (size_t i = 0; i < size; i++)
		at[i] = pattern(i, seed);
}

long api_mismatch(const void *mem, size_t size, uint64_t seed)
{
	const unsigned char *at = mem;

	for (size_t i = 0; i < size; i++)
		if (at[i] != pattern(i, seed))
			return (long)i;
	return -1;
}

static bool unfiltered; /* system calls cannot be forbidden here, under an emulator */

int api_forbid_copies(void)
{
	int error = check_forbid((const int[]){ SYS_process_vm_readv, SYS_process_vm_writev }, 2);

	unfiltered = error == EINVAL;
	return error && !unfiltered ? -1 : 0;
}

void api_skip_where_threads_copy(void)
{
	bool device;

	if (THREAD_SANITIZER)
		check_skip("the thread sanitizer does not see how two processes synchronise");
	if (unfiltered)
		check_skip("whoever runs this has no filters of system calls");
	api_open();
	device = api_over_verbs();
	api_close();
	if (device)
		check_skip("a device moves the data, whether or not the kernel copies");
}

DAT_RETURN api_post_se(DAT_EVD_HANDLE evd, uint64_t number)
{
	DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT, .evd_handle = evd };

	event.event_data.software_event_data.pointer = (DAT_PVOID)(uintptr_t)number;
	return dat_evd_post_se(evd, &event);
}

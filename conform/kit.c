/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The IA under test, objects on it, and transfers. Everything created here is freed by the abrupt
 * close of the IA.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "kit.h"

#define MEMORIES 512
#define OTHERS	 16
#define LISTED	 65536 /* adapters, at most */

static struct {
	struct {
		void *mem;
		size_t size;
	} memories[MEMORIES];
	int memory_count;
	DAT_IA_HANDLE others[OTHERS];
	int other_count;
} held;

DAT_TIMEOUT kit_patience(void)
{
	return (DAT_TIMEOUT)t.patience_ms * 1000;
}

void kit_sleep_ms(unsigned int ms)
{
	struct timespec time = { .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 };

	clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
}

void kit_open(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;

	MUST_RET(dat_ia_open((char *)t.ia_name, 8, &async, &t.ia), DAT_SUCCESS);
	t.async = async;
	MUST_RET(dat_ia_query(t.ia, NULL, DAT_IA_FIELD_ALL, &t.attr, DAT_PROVIDER_FIELD_ALL,
			      &t.prov),
		 DAT_SUCCESS);
	MUST_RET(dat_pz_create(t.ia, &t.pz), DAT_SUCCESS);
}

void kit_close(void)
{
	DAT_IA_HANDLE ia = t.ia;

	while (held.other_count)
		dat_ia_close(held.others[--held.other_count], DAT_CLOSE_ABRUPT_FLAG);
	t.ia = DAT_HANDLE_NULL;
	/* A test may have closed it itself. */
	if (ia)
		dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
	while (held.memory_count) {
		held.memory_count--;
		munmap(held.memories[held.memory_count].mem, held.memories[held.memory_count].size);
	}
}

DAT_IA_HANDLE kit_open_another(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia = DAT_HANDLE_NULL;

	MUST(held.other_count < OTHERS);
	MUST_RET(dat_ia_open((char *)t.ia_name, 8, &async, &ia), DAT_SUCCESS);
	held.others[held.other_count++] = ia;
	return ia;
}

DAT_EVD_HANDLE kit_evd_at(DAT_IA_HANDLE ia, DAT_COUNT qlen, DAT_EVD_FLAGS flags, DAT_CNO_HANDLE cno)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;

	MUST_RET(dat_evd_create(ia, qlen, cno, flags, &evd), DAT_SUCCESS);
	return evd;
}

DAT_CNO_HANDLE kit_cno_at(void)
{
	DAT_CNO_HANDLE cno = DAT_HANDLE_NULL;

	MUST_RET(dat_cno_create(t.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno), DAT_SUCCESS);
	return cno;
}

DAT_PZ_HANDLE kit_pz_at(DAT_IA_HANDLE ia)
{
	DAT_PZ_HANDLE pz = DAT_HANDLE_NULL;

	MUST_RET(dat_pz_create(ia, &pz), DAT_SUCCESS);
	return pz;
}

#define LONG ((DAT_VLEN)256 << 10)

static DAT_COUNT least(DAT_COUNT a, DAT_COUNT b)
{
	return a < b ? a : b;
}

void kit_needs_segments(int n)
{
	NEEDS(t.attr.max_iov_segments_per_dto >= n, "max_iov_segments_per_dto");
	NEEDS(t.attr.max_iov_segments_per_rdma_read >= n, "max_iov_segments_per_rdma_read");
	NEEDS(t.attr.max_iov_segments_per_rdma_write >= n, "max_iov_segments_per_rdma_write");
}

DAT_EP_ATTR kit_attr(void)
{
	DAT_EP_ATTR attr;

	memset(&attr, 0, sizeof(attr));
	attr.service_type = DAT_SERVICE_TYPE_RC;
	attr.max_message_size = t.attr.max_message_size < 65536 ? t.attr.max_message_size : 65536;
	attr.max_rdma_size = t.attr.max_rdma_size < 65536 ? t.attr.max_rdma_size : 65536;
	attr.max_recv_dtos = least(t.attr.max_dto_per_ep, 16);
	attr.max_request_dtos = least(t.attr.max_dto_per_ep, 16);
	attr.max_recv_iov = least(t.attr.max_iov_segments_per_dto, 4);
	attr.max_request_iov = least(t.attr.max_iov_segments_per_dto, 4);
	attr.max_rdma_read_in = least(t.attr.max_rdma_read_per_ep_in, 4);
	attr.max_rdma_read_out = least(t.attr.max_rdma_read_per_ep_out, 4);
	attr.max_rdma_read_iov = least(t.attr.max_iov_segments_per_rdma_read, 4);
	attr.max_rdma_write_iov = least(t.attr.max_iov_segments_per_rdma_write, 4);
	return attr;
}

DAT_EP_ATTR kit_attr_long(void)
{
	DAT_EP_ATTR attr = kit_attr();

	attr.max_message_size = t.attr.max_message_size < LONG ? t.attr.max_message_size : LONG;
	return attr;
}

DAT_IA_HANDLE kit_ia_b(void)
{
	return t.b_remote ? t.remote.ia : t.ia;
}

DAT_EVD_HANDLE kit_async_b(void)
{
	return t.b_remote ? t.remote.async : t.async;
}

DAT_PZ_HANDLE kit_pz_of(bool remote)
{
	return remote ? t.remote.pz : t.pz;
}

void kit_end_at(bool remote, struct kit_end *end, const DAT_EP_ATTR *attr)
{
	DAT_EP_ATTR own = attr ? *attr : kit_attr();
	DAT_IA_HANDLE ia = remote ? t.remote.ia : t.ia;

	end->recv = kit_evd_at(ia, 64, DAT_EVD_DTO_FLAG, DAT_HANDLE_NULL);
	end->request =
		kit_evd_at(ia, 64, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG, DAT_HANDLE_NULL);
	end->connect = kit_evd_at(ia, 8, DAT_EVD_CONNECTION_FLAG, DAT_HANDLE_NULL);
	MUST_RET(dat_ep_create(ia, kit_pz_of(remote), end->recv, end->request, end->connect, &own,
			       &end->ep),
		 DAT_SUCCESS);
}

DAT_PSP_HANDLE kit_psp_at(DAT_EVD_HANDLE evd, DAT_PSP_FLAGS flags, DAT_CONN_QUAL *qual)
{
	DAT_PSP_HANDLE psp = DAT_HANDLE_NULL;

	MUST_RET(dat_psp_create_any(kit_ia_b(), qual, evd, flags, &psp), DAT_SUCCESS);
	return psp;
}

struct kit_buf kit_region_at(DAT_PZ_HANDLE pz, void *mem, size_t size, DAT_MEM_PRIV_FLAGS priv)
{
	struct kit_buf buf = { .mem = mem, .size = size, .address = (DAT_VADDR)(uintptr_t)mem };
	DAT_REGION_DESCRIPTION region = { .for_va = mem };
	DAT_VLEN registered;
	DAT_VADDR address;

	MUST_RET(dat_lmr_create(t.ia, DAT_MEM_TYPE_VIRTUAL, region, size, pz, priv, &buf.lmr,
				&buf.context, &buf.rmr_context, &registered, &address),
		 DAT_SUCCESS);
	return buf;
}

struct kit_buf kit_buf_at(DAT_PZ_HANDLE pz, size_t size, DAT_MEM_PRIV_FLAGS priv)
{
	struct kit_buf remote = { .size = size };
	void *mem;

	if (remote_is(pz)) {
		remote.lmr = remote_buf_create(pz, size, priv, &remote.context, &remote.rmr_context,
					       &remote.address);
		return remote;
	}
	mem = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(mem != MAP_FAILED && held.memory_count < MEMORIES);
	held.memories[held.memory_count].mem = mem;
	held.memories[held.memory_count++].size = size;
	return kit_region_at(pz, mem, size, priv);
}

DAT_EP_STATE kit_state(DAT_EP_HANDLE ep)
{
	DAT_EP_STATE state = DAT_EP_STATE_UNCONFIGURED_UNCONNECTED;
	DAT_BOOLEAN recv_idle, request_idle;

	MUST_RET(dat_ep_get_status(ep, &state, &recv_idle, &request_idle), DAT_SUCCESS);
	return state;
}

DAT_LMR_TRIPLET kit_seg(const struct kit_buf *buf, size_t offset, size_t length)
{
	return (DAT_LMR_TRIPLET){ .lmr_context = buf->context,
				  .virtual_address = buf->address + offset,
				  .segment_length = length };
}

DAT_RMR_TRIPLET kit_target(const struct kit_buf *buf, size_t offset, size_t length)
{
	return (DAT_RMR_TRIPLET){ .rmr_context = buf->rmr_context,
				  .API_TARGET_ADDRESS = buf->address + offset,
				  .segment_length = length };
}

DAT_DTO_COOKIE kit_cookie(uint64_t number)
{
	return (DAT_DTO_COOKIE){ .as_64 = number };
}

DAT_RETURN kit_recv(DAT_EP_HANDLE ep, const struct kit_buf *buf, size_t offset, size_t length,
		    uint64_t cookie)
{
	DAT_LMR_TRIPLET seg;

	if (!length)
		return dat_ep_post_recv(ep, 0, NULL, kit_cookie(cookie),
					DAT_COMPLETION_DEFAULT_FLAG);
	seg = kit_seg(buf, offset, length);
	return dat_ep_post_recv(ep, 1, &seg, kit_cookie(cookie), DAT_COMPLETION_DEFAULT_FLAG);
}

DAT_RETURN kit_send(DAT_EP_HANDLE ep, const struct kit_buf *buf, size_t offset, size_t length,
		    uint64_t cookie, DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET seg;

	if (!length)
		return dat_ep_post_send(ep, 0, NULL, kit_cookie(cookie), flags);
	seg = kit_seg(buf, offset, length);
	return dat_ep_post_send(ep, 1, &seg, kit_cookie(cookie), flags);
}

DAT_RETURN kit_write(DAT_EP_HANDLE ep, DAT_LMR_TRIPLET from, DAT_RMR_TRIPLET to, uint64_t cookie,
		     DAT_COMPLETION_FLAGS flags)
{
	return dat_ep_post_rdma_write(ep, 1, &from, kit_cookie(cookie), &to, flags);
}

DAT_RETURN kit_read(DAT_EP_HANDLE ep, DAT_LMR_TRIPLET to, DAT_RMR_TRIPLET from, uint64_t cookie,
		    DAT_COMPLETION_FLAGS flags)
{
	return dat_ep_post_rdma_read(ep, 1, &to, kit_cookie(cookie), &from, flags);
}

/*
 * Returns the byte at a position. It depends on the position and the seed, so that a shift is found
 * as well.
 */
static unsigned char pattern(size_t at, unsigned int seed)
{
	uint64_t x = (at + 1) * 0x9e3779b97f4a7c15u ^ (seed + 1) * 0xd1342543de82ef95u;

	return (unsigned char)(x >> 56 ^ x >> 20);
}

void kit_fill(void *mem, size_t size, unsigned int seed)
{
	unsigned char *at = mem;

	for (size_t i = 0; i < size; i++)
		at[i] = pattern(i, seed);
}

bool kit_filled(const void *mem, size_t size, unsigned int seed)
{
	const unsigned char *at = mem;

	for (size_t i = 0; i < size; i++)
		if (at[i] != pattern(i, seed))
			return false;
	return true;
}

void kit_buf_fill(const struct kit_buf *buf, size_t offset, size_t size, unsigned int seed)
{
	if (buf->mem)
		kit_fill(buf->mem + offset, size, seed);
	else
		remote_buf_fill(buf->lmr, offset, size, seed);
}

bool kit_buf_filled(const struct kit_buf *buf, size_t offset, size_t size, unsigned int seed)
{
	return buf->mem ? kit_filled(buf->mem + offset, size, seed)
			: remote_buf_filled(buf->lmr, offset, size, seed);
}

void kit_buf_set(const struct kit_buf *buf, size_t offset, size_t size, unsigned char byte)
{
	if (buf->mem)
		memset(buf->mem + offset, byte, size);
	else
		remote_buf_set(buf->lmr, offset, size, byte);
}

/*
 * Nothing in this process orders a peer's write and this read, which is a race for the thread
 * sanitizer.
 */
__attribute__((no_sanitize_thread)) unsigned char kit_buf_peek(const struct kit_buf *buf,
							       size_t offset)
{
	return *(const volatile unsigned char *)(buf->mem + offset);
}

__attribute__((no_sanitize_thread)) uint64_t kit_buf_peek_word(const struct kit_buf *buf,
							       size_t offset)
{
	return *(const volatile uint64_t *)(const void *)(buf->mem + offset);
}

void kit_buf_read(const struct kit_buf *buf, size_t offset, void *data, size_t size)
{
	if (buf->mem)
		memcpy(data, buf->mem + offset, size);
	else
		remote_buf_read(buf->lmr, offset, size, data);
}

bool kit_buf_is(const struct kit_buf *buf, size_t offset, const void *data, size_t size)
{
	unsigned char got[4096];

	MUST(size <= sizeof(got));
	kit_buf_read(buf, offset, got, size);
	return !memcmp(got, data, size);
}

DAT_RETURN kit_post_se(DAT_EVD_HANDLE evd, uint64_t number)
{
	DAT_EVENT event;

	memset(&event, 0, sizeof(event));
	event.event_number = DAT_SOFTWARE_EVENT;
	event.evd_handle = evd;
	event.event_data.software_event_data.pointer = (DAT_PVOID)(uintptr_t)number;
	return dat_evd_post_se(evd, &event);
}

void kit_list_free(struct kit_list *l)
{
	free(l->infos);
	free(l->list);
}

static bool list_of(struct kit_list *l, DAT_COUNT room)
{
	l->room = room;
	l->infos = malloc((size_t)room * sizeof(*l->infos));
	l->list = malloc(((size_t)room + 1) * sizeof(*l->list));
	if (!l->infos || !l->list) {
		kit_list_free(l);
		return false;
	}
	memset(l->infos, 0xa5, (size_t)room * sizeof(*l->infos));
	for (DAT_COUNT i = 0; i < room; i++)
		l->list[i] = &l->infos[i];
	l->list[room] = KIT_BAD;
	return true;
}

/*
 * The number of adapters cannot be asked for: a registry may return as many as there is room for. So the list grows until some of
 * it stays free. A call that fails is judged by the test, which makes it again.
 */
bool kit_list_make(struct kit_list *l)
{
	DAT_COUNT room = 32, n;

	do {
		room *= 2;
		n = 0;
		if (!list_of(l, room))
			return false;
		dat_registry_list_providers(room, &n, l->list);
		kit_list_free(l);
	} while (n >= room && room < LISTED);
	return list_of(l, room);
}

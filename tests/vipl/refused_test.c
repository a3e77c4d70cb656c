/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A client that is refused, and uses the connection that carries the verdict for RDMA. It does not use libvipl, which would
 * disconnect, but knows its messages. The program's memory is out of its reach, although it knows the key.
 */
#include <string.h>

#include "foe.h"

enum { LENGTH = 32, NO_MATCH = 2, REJECTS = 3 };

static struct side s;
static pid_t client;

/* What the client is to do. */
struct task {
	int verdict; /* that it gets */
	bool writes;
	uint32_t mtu;
	uint64_t at;
	DAT_RMR_CONTEXT key;
};

static void use_the_verdicts_connection(void *arg)
{
	DAT_LMR_TRIPLET iov = { .virtual_address = (uintptr_t)foe.mem, .segment_length = LENGTH };
	DAT_RMR_TRIPLET remote = { .segment_length = LENGTH };
	DAT_DTO_COOKIE cookie = { .as_64 = 0 };
	struct task task;

	(void)arg;
	check_get(CHECK_PARENT, &task, sizeof(task));
	foe_open();
	mtu = task.mtu;
	memset(foe.mem, 'f', LENGTH);
	/* there is no match for another discriminator than that of the door */
	ask_as_client("victim", task.verdict == NO_MATCH ? "nobody" : "victim", 0);
	REQUIRE_EQ_INT(verdict(), task.verdict);
	iov.lmr_context = foe.context;
	remote.rmr_context = task.key;
	remote.target_address = task.at;
	if (task.writes)
		REQUIRE_DAT(dat_ep_post_rdma_write(foe.ep, 1, &iov, cookie, &remote, DAT_COMPLETION_DEFAULT_FLAG),
			    DAT_SUCCESS);
	else
		REQUIRE_DAT(dat_ep_post_rdma_read(foe.ep, 1, &iov, cookie, &remote, DAT_COMPLETION_DEFAULT_FLAG),
			    DAT_SUCCESS);
	next(foe.dto);
	/* the refusal ends the connection; over iWARP only that tells of a write which was refused */
	next(foe.connect);
	for (int i = 0; i < LENGTH; i++)
		REQUIRE_EQ_INT(foe.mem[i], 'f');
	foe_close();
}

/* After the first call the library listens. */
static VIP_RETURN look(VIP_ULONG timeout, VIP_CONN_HANDLE *conn)
{
	union address remote = { .bytes = { 0 } };

	address_make(&s, "victim", &s.local);
	return VipConnectWait(s.nic, &s.local.net, timeout, &remote.net, &s.remote, conn);
}

static void refuse(int how, bool writes)
{
	struct task task = { .verdict = how, .writes = writes };
	VIP_CONN_HANDLE conn;

	client = check_fork(use_the_verdicts_connection, NULL);
	side_open_vi(&s);
	memset(buffer(&s, 3), 'p', LENGTH);
	REQUIRE_VIP(VipQueryVi(s.vi, NULL, &s.attr, NULL, NULL), VIP_SUCCESS);
	task.mtu = (uint32_t)s.attr.MaxTransferSize;
	task.at = (uintptr_t)buffer(&s, 3);
	task.key = s.handle;
	REQUIRE_VIP(look(0, &conn), VIP_TIMEOUT);
	check_put(client, &task, sizeof(task));
	if (how == REJECTS) {
		REQUIRE_VIP(look(check_patience_ms(), &conn), VIP_SUCCESS);
		REQUIRE_VIP(VipConnectReject(conn), VIP_SUCCESS);
	}
	check_join(client);
	for (int i = 0; i < LENGTH; i++)
		REQUIRE_EQ_INT(buffer(&s, 3)[i], 'p');
}

static void client_without_a_match_cannot_read_memory(void)
{
	refuse(NO_MATCH, false);
}

static void client_without_a_match_cannot_write_memory(void)
{
	refuse(NO_MATCH, true);
}

static void rejected_client_cannot_read_memory(void)
{
	refuse(REJECTS, false);
}

static void rejected_client_cannot_write_memory(void)
{
	refuse(REJECTS, true);
}

static void close_side(void)
{
	side_close(&s);
}

static const struct check_test tests[] = {
	CHECK_TEST(client_without_a_match_cannot_read_memory),
	CHECK_TEST(client_without_a_match_cannot_write_memory),
	CHECK_TEST(rejected_client_cannot_read_memory),
	CHECK_TEST(rejected_client_cannot_write_memory),
	CHECK_END,
};
static const struct check_suite refused = { .name = "refused", .teardown = close_side, .tests = tests };

CHECK_SUITES(&refused);

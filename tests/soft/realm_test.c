/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who meets whom. Processes of one host that were started in different realms do not, although they listen at the same connection
 * qualifier of the same address. Those of one user do, although another user listens there.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api.h"
#include "providers/soft/sock.h"

#define STRANGER 12345 /* another user */

static DAT_CONN_QUAL qual;
static DAT_EVD_HANDLE cr_evd;
static struct api_end end;

static void open_in(const char *realm)
{
	REQUIRE(setenv("DAT_SOFT_REALM", realm, 1) == 0);
	api_open();
	api_end_make(&end, NULL);
	cr_evd = api_evd(8, DAT_EVD_CR_FLAG);
}

static void listen_here(void)
{
	DAT_PSP_HANDLE psp;

	REQUIRE_DAT(dat_psp_create(api.ia, qual, cr_evd, DAT_PSP_CONSUMER_FLAG, &psp), DAT_SUCCESS);
}

/* Listens until it is told to end. No request may arrive. */
static void listen_elsewhere(void *arg)
{
	open_in(arg);
	listen_here();
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
	API_EMPTY(cr_evd);
	api_close();
}

static void meets_nobody(const char *mine, char *theirs)
{
	pid_t peer;

	qual = UINT64_C(0x7b7b000000000000) + (DAT_CONN_QUAL)getpid();
	peer = check_fork(listen_elsewhere, theirs);
	check_await(peer);
	open_in(mine);
	REQUIRE_DAT(api_connect(end.ep, qual), DAT_SUCCESS);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	/* the qualifier can be used in this realm too */
	listen_here();
	check_signal(peer);
	check_join(peer);
	api_close();
}

static void listener_of_another_realm_is_not_there(void)
{
	meets_nobody("check-a", (char[]){ "check-b" });
}

static void realm_and_none_do_not_meet(void)
{
	meets_nobody("", (char[]){ "check-b" });
	meets_nobody("check-b", (char[]){ "" });
}

/* What a listener of another user does. */
enum stranger {
	ROOMY, /* lets everybody in */
	FULL,  /* keeps its backlog full */
	LATE,  /* makes room in its full backlog when it is told to */
};

/* Fills the backlog with connections of this process, which it makes last as long as itself. */
static void fill(const struct sockaddr_storage *name, socklen_t len)
{
	int fd;

	do {
		fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);
		REQUIRE(fd >= 0);
	} while (connect(fd, (const struct sockaddr *)name, len) == 0);
	REQUIRE_EQ_INT(errno, EAGAIN);
}

/* Listens at the address of the adapter, where a peer looks before it looks for a listener without an address. */
static void listen_as_stranger(void *arg)
{
	const enum stranger how = *(enum stranger *)arg;
	char address[INET_ADDRSTRLEN];
	struct sockaddr_storage name;
	socklen_t len;
	int fd;

	check_get(CHECK_PARENT, address, sizeof(address));
	REQUIRE(setresgid(STRANGER, STRANGER, STRANGER) == 0 && setresuid(STRANGER, STRANGER, STRANGER) == 0);
	len = soft_listener_name(&name, "check-c", address, qual);
	fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	REQUIRE(fd >= 0 && bind(fd, (struct sockaddr *)&name, len) == 0 && listen(fd, how == ROOMY ? 16 : 0) == 0);
	if (how != ROOMY)
		fill(&name, len);
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
	if (how == LATE)
		REQUIRE(accept(fd, NULL, NULL) >= 0);
	check_await(CHECK_PARENT);
}

static void stranger_hides_none(enum stranger how)
{
	char address[INET_ADDRSTRLEN];
	struct api_end passive;
	pid_t stranger;

	if (geteuid() != 0)
		check_skip("only root can be another user");
	qual = UINT64_C(0x7b7b000000000000) + (DAT_CONN_QUAL)getpid();
	stranger = check_fork(listen_as_stranger, &how);
	open_in("check-c");
	REQUIRE(inet_ntop(AF_INET, &((struct sockaddr_in *)api_address())->sin_addr, address, sizeof(address)));
	check_put(stranger, address, sizeof(address));
	check_await(stranger);
	listen_here();
	api_end_make(&passive, NULL);
	check_stderr_begin();
	REQUIRE_DAT(api_connect(end.ep, qual), DAT_SUCCESS);
	check_signal(stranger);
	REQUIRE_DAT(dat_cr_accept(api_cr(cr_evd), passive.ep, 0, NULL), DAT_SUCCESS);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	check_stderr_end();
	check_signal(stranger);
	check_join(stranger);
	api_close();
}

static void listener_of_another_user_hides_none(void)
{
	stranger_hides_none(ROOMY);
}

static void full_listener_of_another_user_hides_none(void)
{
	stranger_hides_none(FULL);
}

static void listener_of_another_user_that_makes_room_hides_none(void)
{
	stranger_hides_none(LATE);
}

static const struct check_test tests[] = {
	CHECK_TEST(listener_of_another_realm_is_not_there),
	CHECK_TEST(realm_and_none_do_not_meet),
	CHECK_TEST(listener_of_another_user_hides_none),
	CHECK_TEST(full_listener_of_another_user_hides_none),
	CHECK_TEST(listener_of_another_user_that_makes_room_hides_none),
	CHECK_END
};

static const struct check_suite realm = { .name = "realm", .teardown = api_close, .tests = tests };

CHECK_SUITES(&realm);

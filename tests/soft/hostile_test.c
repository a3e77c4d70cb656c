/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process of the same user that talks nonsense to a service point: garbage, messages in no order, descriptors of
 * something else, memory that is not there, ends of connections that are not its own. The listener refuses it, keeps
 * nothing of it, and its own connections go on.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api.h"
#include "providers/soft/arena.h"
#include "providers/soft/sock.h"

#define ROUNDS 300

/* What the hostile process is told about its victim. */
struct target {
	DAT_CONN_QUAL qual;
	uint32_t port, gen; /* of an endpoint that is connected to another */
};

static struct api_pair pair;
static struct api_buf buf;

/* ------------------------------------------------------------------ the hostile process */

static int reach(DAT_CONN_QUAL qual)
{
	struct sockaddr_storage sa;
	const char *realm = getenv("DAT_SOFT_REALM");
	socklen_t len = soft_listener_name(&sa, realm ? realm : "", "*", qual);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	REQUIRE(fd >= 0);
	REQUIRE(connect(fd, (struct sockaddr *)&sa, len) == 0);
	return fd;
}

static void say(int fd, const void *bytes, size_t size, const int *fds, unsigned int n)
{
	struct iovec iov = { (void *)(uintptr_t)bytes, size };
	union {
		struct cmsghdr header;
		unsigned char space[CMSG_SPACE(4 * sizeof(int))];
	} control = { 0 };
	struct msghdr hdr = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (n) {
		hdr.msg_control = &control;
		hdr.msg_controllen = CMSG_SPACE(n * sizeof(int));
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(n * sizeof(int));
		memcpy(CMSG_DATA(&control.header), fds, n * sizeof(int));
	}
	/* the other side may have hung up already */
	(void)sendmsg(fd, &hdr, MSG_NOSIGNAL);
}

/* Waits until the other side has hung up, and ignores what it sends meanwhile. */
static void await_hangup(int fd)
{
	struct soft_msg msg;

	while (recv(fd, &msg, sizeof(msg), 0) > 0)
		;
	close(fd);
}

static void random_bytes(void *at, size_t size, unsigned int *seed)
{
	for (size_t i = 0; i < size; i++)
		((unsigned char *)at)[i] = (unsigned char)rand_r(seed);
}

static void talk_garbage(const struct target *target)
{
	unsigned int seed = 5;

	for (int i = 0; i < ROUNDS; i++) {
		unsigned char bytes[2 * sizeof(struct soft_msg)];
		size_t size = (size_t)rand_r(&seed) % (i % 3 ? sizeof(bytes) : 8);
		int fd = reach(target->qual);

		random_bytes(bytes, size, &seed);
		say(fd, bytes, size, NULL, 0);
		shutdown(fd, SHUT_WR);
		await_hangup(fd);
	}
}

static void header(struct soft_msg *msg, unsigned int type)
{
	msg->magic = SOFT_MSG_MAGIC;
	msg->version = SOFT_SHM_VERSION;
	msg->type = (uint16_t)type;
}

/* Sends messages with a valid header and a random body, in random order, with various descriptors. */
static void talk_out_of_order(const struct target *target)
{
	int some[4] = { open("/dev/null", O_RDWR), memfd_create("hostile", 0), 0, 1 };
	unsigned int seed = 6;

	for (int i = 0; i < ROUNDS; i++) {
		int fd = reach(target->qual);

		for (int n = rand_r(&seed) % 4; n >= 0; n--) {
			struct soft_msg msg;

			random_bytes(&msg, sizeof(msg), &seed);
			if (rand_r(&seed) % 2) /* otherwise the message would be refused for this alone */
				memset(&msg.intro, rand_r(&seed) % 2, sizeof(msg.intro));
			header(&msg, (unsigned int)rand_r(&seed) % 9);
			msg.pdata_len =
				(uint16_t)((unsigned int)rand_r(&seed) % (SOFT_PDATA_MAX + 2));
			msg.address.ss_family = AF_INET;
			say(fd, &msg, sizeof(msg), some, (unsigned int)rand_r(&seed) % 5);
		}
		shutdown(fd, SHUT_WR);
		await_hangup(fd);
	}
	close(some[0]);
	close(some[1]);
}

/* Sends valid requests, except that their arena is shorter than its description says. */
static void offer_bad_memory(const struct target *target)
{
	static const uint64_t sizes[] = { 0, 4096, 1 << 20 };

	for (int i = 0; i < 12; i++) {
		int fds[2] = { memfd_create("hostile", MFD_ALLOW_SEALING),
			       open("/dev/null", O_RDWR) };
		int fd = reach(target->qual);
		struct soft_msg msg = { 0 };
		struct soft_header theirs = { .version = SOFT_SHM_VERSION };

		REQUIRE(ftruncate(fds[0], (off_t)sizes[i % 3]) == 0);
		/* the table of regions: beyond the end of the file, or at an impossible address */
		theirs.mr = (struct soft_ref){ i % 2 ? 1ull << 40 : 0, 64 << 20, 0 };
		theirs.slots = (struct soft_ref){ 0, 4096, UINT64_MAX - 63 };
		theirs.slot_count = theirs.slot_size = UINT32_MAX;
		if (sizes[i % 3])
			REQUIRE(pwrite(fds[0], &theirs, sizeof(theirs), 0) > 0);
		if (i > 5)
			REQUIRE(fcntl(fds[0], F_ADD_SEALS, F_SEAL_SHRINK) == 0);
		header(&msg, SOFT_MSG_REQ);
		msg.intro.id[0] = 99 + (uint64_t)i;
		msg.intro.sender_id = 1;
		msg.intro.header = (struct soft_ref){ 0, i % 4 ? 4096 : 1 << 20, 0 };
		msg.address.ss_family = AF_INET;
		say(fd, &msg, sizeof(msg), fds, 2);
		shutdown(fd, SHUT_WR);
		await_hangup(fd);
		close(fds[0]);
		close(fds[1]);
	}
}

/* Sends the end of another process's connection, with the right numbers. */
static void end_a_connection_of_others(const struct target *target)
{
	static const unsigned int types[] = { SOFT_MSG_DISC, SOFT_MSG_CANCEL, SOFT_MSG_REJ,
					      SOFT_MSG_RTU };
	struct soft_msg msg = { 0 };

	for (int i = 0; i < 4; i++) {
		int fd = reach(target->qual);

		header(&msg, types[i]);
		msg.port = msg.my_port = target->port;
		msg.gen = msg.my_gen = target->gen;
		say(fd, &msg, sizeof(msg), NULL, 0);
		shutdown(fd, SHUT_WR);
		await_hangup(fd);
	}
}

typedef void hostility(const struct target *target);

static void hostile_process(void *arg)
{
	struct target target;

	check_get(CHECK_PARENT, &target, sizeof(target));
	(*(hostility **)arg)(&target);
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
}

/* ------------------------------------------------------------------ the others */

/* Rejects the hostile requests that are valid by chance, since nothing else answers them. */
static void refuse_all(void)
{
	DAT_EVENT event;

	while (dat_evd_dequeue(pair.cr_evd, &event) == DAT_SUCCESS)
		CHECK_DAT(dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle),
			  DAT_SUCCESS);
}

static void suffer(hostility *what)
{
	pid_t peer = check_fork(hostile_process, (void *)&what);
	struct target target;
	int fds;

	api_open();
	buf = api_buf(4096, DAT_MEM_PRIV_ALL_FLAG);
	api_pair_make(&pair, NULL);
	api_pair_works(&pair, &buf);
	fds = api_descriptors();
	target.qual = pair.qual;
	target.port = ((struct soft_ep *)pair.b.ep)->index;
	target.gen = ((struct soft_ep *)pair.b.ep)->gen;
	check_stderr_begin();
	check_put(peer, &target, sizeof(target));
	check_await(peer);
	check_stderr_end();
	refuse_all();
	API_STATE(pair.a.ep, DAT_EP_STATE_CONNECTED);
	API_STATE(pair.b.ep, DAT_EP_STATE_CONNECTED);
	api_pair_works(&pair, &buf);
	REQUIRE_SOON(api_descriptors() <= fds);
	check_signal(peer);
	check_join(peer);
}

static void garbage_is_refused(void)
{
	suffer(talk_garbage);
}

static void messages_out_of_order_are_refused(void)
{
	suffer(talk_out_of_order);
}

static void memory_that_is_not_there_is_refused(void)
{
	suffer(offer_bad_memory);
}

static void connection_of_others_is_not_ended(void)
{
	suffer(end_a_connection_of_others);
}

/* The description of an arena is read once, because any peer can write over it afterwards. */
static void memory_that_is_laid_out_anew_is_used_as_it_was(void)
{
	struct soft_header *header;

	api_open();
	buf = api_buf(4096, DAT_MEM_PRIV_ALL_FLAG);
	api_pair_make(&pair, NULL);
	api_pair_works(&pair, &buf);
	header = soft_ia(((struct datp_ep *)pair.a.ep)->obj.ia)->header;
	header->slot_count = header->slot_size = UINT32_MAX;
	for (uint64_t n = 0; n < 8; n++) {
		api_fill(buf.mem, 1000, n);
		REQUIRE_DAT(api_recv(pair.b.ep, &buf, 2000, 1000, n), DAT_SUCCESS);
		REQUIRE_DAT(api_send(pair.a.ep, &buf, 0, 1000, n, 0), DAT_SUCCESS);
		API_DTO(pair.b.recv, pair.b.ep, n, DAT_DTO_SUCCESS, 1000);
		API_DTO(pair.a.request, pair.a.ep, n, DAT_DTO_SUCCESS, 1000);
		CHECK(memcmp(buf.mem, (unsigned char *)buf.mem + 2000, 1000) == 0);
	}
}

/* A short message that waits in the request queue, where the peer can write to its list of segments. */
static void segment_that_has_grown_stays_in_its_cell(void)
{
	struct soft_ep *ep;
	uint64_t n = 0;

	api_open();
	buf = api_buf(65536, DAT_MEM_PRIV_ALL_FLAG);
	api_pair_make(&pair, NULL);
	ep = (struct soft_ep *)pair.a.ep;
	do {
		REQUIRE_DAT(api_send(pair.a.ep, &buf, 0, 8, n++, DAT_COMPLETION_SUPPRESS_FLAG),
			    DAT_SUCCESS);
	} while (atomic_load(&ep->port->sq_posted) == atomic_load(&ep->port->sq_done));
	soft_port_sqe(ep->port, &ep->layout, atomic_load(&ep->port->sq_done))->sge[0].len = 30000;
	for (uint32_t i = 0; i <= ep->rring->mask; i++)
		ep->rring->cell[i].pad = 7; /* nobody else writes to the padding */
	for (uint64_t i = 0; i < n / 2; i++) {
		REQUIRE_DAT(api_recv(pair.b.ep, &buf, 40000, 8, i), DAT_SUCCESS);
		API_DTO(pair.b.recv, pair.b.ep, i, DAT_DTO_SUCCESS, 8);
	}
	/* the next post executes the waiting message */
	REQUIRE_DAT(api_send(pair.a.ep, &buf, 0, 8, n, DAT_COMPLETION_SUPPRESS_FLAG), DAT_SUCCESS);
	REQUIRE_EQ_INT(atomic_load(&ep->port->sq_posted), atomic_load(&ep->port->sq_done));
	for (uint32_t i = 0; i <= ep->rring->mask; i++)
		REQUIRE_EQ_INT(ep->rring->cell[i].pad, 7);
}

static const struct check_test tests[] = { CHECK_TEST(garbage_is_refused),
					   CHECK_TEST(messages_out_of_order_are_refused),
					   CHECK_TEST(memory_that_is_not_there_is_refused),
					   CHECK_TEST(connection_of_others_is_not_ended),
					   CHECK_TEST(memory_that_is_laid_out_anew_is_used_as_it_was),
					   CHECK_TEST(segment_that_has_grown_stays_in_its_cell),
					   CHECK_END };

static const struct check_suite hostile = { .name = "hostile",
					    .teardown = api_close,
					    .tests = tests };

CHECK_SUITES(&hostile);

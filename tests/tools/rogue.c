/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A client of datperf --server, or of datctl ping --server, that misbehaves: rogue ADDRESS QUAL WORD...
 *
 * It connects over soft0 as datperf does and sends one control message of these words, of which at
 * most eight are given; without any it says nothing. Then it waits until the server ends the
 * connection, or answers, and prints which: "ended", or the words of the answer. With ROGUE_VERSION in
 * the environment it says that it is of this version.
 *
 * rogue ADDRESS QUAL talk: it sends a message that is no test whenever it gets an answer, until the
 * server ends the connection.
 *
 * rogue ADDRESS QUAL leave: it says nothing, and hangs up after 800 ms.
 *
 * rogue ADDRESS QUAL thief: it asks for a data connection, over four endpoints, again and again. When it
 * has been rejected for the first time it prints "asks"; when it has a connection it prints "has one"
 * and ends.
 *
 * rogue ADDRESS QUAL squat: it connects to a datctl ping --server, over two endpoints, says nothing, and
 * connects again when the connection has ended; "has one" is printed when it has the first connection.
 *
 * rogue ADDRESS QUAL noise: it asks 500 times with private data that are nobody's.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <dat/udat.h>

#define WORDS 8
#define CONTROL 1
#define DATA 2
#define PATIENCE_US 100000000u

static struct {
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE conn_evd, recv_evd, request_evd;
	DAT_EP_HANDLE ep;
	DAT_LMR_CONTEXT context;
	uint64_t mem[2 * WORDS];	/* what is sent, then what is received */
} rogue;

static void must(DAT_RETURN ret, const char *call)
{
	if (ret == DAT_SUCCESS)
		return;
	fprintf(stderr, "rogue: %s: 0x%08x\n", call, ret);
	exit(1);
}

#define MUST(call) must((call), #call)

static void prepare(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_REGION_DESCRIPTION region = { .for_va = rogue.mem };
	DAT_LMR_HANDLE lmr;
	DAT_RMR_CONTEXT rmr;
	DAT_VADDR address;
	DAT_VLEN length;
	char name[] = "soft0";

	MUST(dat_ia_open(name, 8, &async, &rogue.ia));
	MUST(dat_pz_create(rogue.ia, &rogue.pz));
	MUST(dat_evd_create(rogue.ia, 8, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG,
			    &rogue.conn_evd));
	MUST(dat_evd_create(rogue.ia, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &rogue.recv_evd));
	MUST(dat_evd_create(rogue.ia, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &rogue.request_evd));
	MUST(dat_ep_create(rogue.ia, rogue.pz, rogue.recv_evd, rogue.request_evd, rogue.conn_evd, NULL,
			   &rogue.ep));
	MUST(dat_lmr_create(rogue.ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(rogue.mem), rogue.pz,
			    DAT_MEM_PRIV_ALL_FLAG, &lmr, &rogue.context, &rmr, &length, &address));
}

static void post(DAT_RETURN (*how)(DAT_EP_HANDLE, DAT_COUNT, DAT_LMR_TRIPLET *, DAT_DTO_COOKIE,
				   DAT_COMPLETION_FLAGS), const uint64_t *at)
{
	DAT_LMR_TRIPLET iov = { .lmr_context = rogue.context,
				.virtual_address = (DAT_VADDR)(uintptr_t)at,
				.segment_length = WORDS * sizeof(*at) };
	DAT_DTO_COOKIE cookie = { .as_64 = 0 };

	must(how(rogue.ep, 1, &iov, cookie, DAT_COMPLETION_DEFAULT_FLAG), "post");
}

static DAT_RETURN post_recv(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			    DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	return dat_ep_post_recv(ep, n, iov, cookie, flags);
}

static DAT_RETURN post_send(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			    DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	return dat_ep_post_send(ep, n, iov, cookie, flags);
}

/* Asks for a connection with these private data. */
static void ask(DAT_EP_HANDLE ep, const char *host, DAT_CONN_QUAL qual, const void *data, size_t size)
{
	struct sockaddr_in address = { .sin_family = AF_INET };

	if (inet_pton(AF_INET, host, &address.sin_addr) != 1)
		exit(2);
	MUST(dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)&address, qual, PATIENCE_US, (DAT_COUNT)size,
			    (DAT_PVOID)(uintptr_t)data, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
}

/* The private data of a connection of datperf. */
struct hello {
	uint32_t word[8];
};

static struct hello hello(uint32_t kind)
{
	const char *version = getenv("ROGUE_VERSION");

	return (struct hello){ { htobe32(0x64707266), htobe32((uint32_t)(version ? atoi(version) : 4) << 16 | kind) } };
}

static void join(const char *host, DAT_CONN_QUAL qual)
{
	const struct hello data = hello(CONTROL);
	DAT_EVENT event;
	DAT_COUNT more;

	ask(rogue.ep, host, qual, &data, sizeof(data));
	MUST(dat_evd_wait(rogue.conn_evd, PATIENCE_US, 1, &event, &more));
	if (event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
		return;
	puts("turned away");
	exit(0);
}

/*
 * Asks with these private data, over `count` endpoints, again and again, as soon as an attempt or a connection has ended. It
 * prints "asks" when the first attempt was rejected, and "has one" when the first one was accepted, and ends at that if `thief`,
 * or after so many rejections.
 */
static void insist(const char *host, DAT_CONN_QUAL qual, int count, const void *data, size_t size, bool thief, int most)
{
	int rejected = 0, accepted = 0;
	DAT_EVENT event;
	DAT_EP_HANDLE ep;
	DAT_COUNT more;

	for (int i = 0; i < count; i++) {
		MUST(dat_ep_create(rogue.ia, rogue.pz, rogue.recv_evd, rogue.request_evd, rogue.conn_evd, NULL, &ep));
		ask(ep, host, qual, data, size);
	}
	while (rejected < most && !(thief && accepted)) {
		MUST(dat_evd_wait(rogue.conn_evd, DAT_TIMEOUT_INFINITE, 1, &event, &more));
		ep = event.event_data.connect_event_data.ep_handle;
		if (event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED) {
			if (!accepted++)
				puts("has one");
			fflush(stdout);
			continue;
		}
		if (event.event_number != DAT_CONNECTION_EVENT_DISCONNECTED && !rejected++)
			puts("asks");
		fflush(stdout);
		MUST(dat_ep_reset(ep));
		ask(ep, host, qual, data, size);
	}
	dat_ia_close(rogue.ia, DAT_CLOSE_ABRUPT_FLAG);
	exit(0);
}

/* A word of the command line that names one of the ways to insist. */
static void insist_as(const char *what, const char *host, DAT_CONN_QUAL qual)
{
	const struct hello data = hello(DATA);
	const uint64_t ping[4] = { htobe64(0x64617463746c3031) };

	if (!strcmp(what, "thief"))
		insist(host, qual, 4, &data, sizeof(data), true, INT_MAX);
	if (!strcmp(what, "squat"))
		insist(host, qual, 2, ping, sizeof(ping), false, INT_MAX);
	if (!strcmp(what, "noise"))
		insist(host, qual, 8, "noise", 5, false, 500);
}

static void talk(void)
{
	DAT_EVENT event;
	DAT_COUNT more;
	int answers = 0;

	for (;; answers++) {
		rogue.mem[0] = htobe64(77);
		post(post_send, rogue.mem);
		MUST(dat_evd_wait(rogue.recv_evd, PATIENCE_US, 1, &event, &more));
		if (event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
			break;
		MUST(dat_evd_wait(rogue.request_evd, PATIENCE_US, 1, &event, &more));
		post(post_recv, rogue.mem + WORDS);
	}
	printf("ended after %d answers\n", answers);
	dat_ia_close(rogue.ia, DAT_CLOSE_ABRUPT_FLAG);
	exit(0);
}

static void leave(void)
{
	usleep(800000);
	puts("left");
	dat_ia_close(rogue.ia, DAT_CLOSE_ABRUPT_FLAG);
	exit(0);
}

int main(int argc, char **argv)
{
	DAT_EVENT event;
	DAT_COUNT more;

	if (argc < 3 || argc > 3 + WORDS)
		return 2;
	prepare();
	if (argc == 4)
		insist_as(argv[3], argv[1], strtoull(argv[2], NULL, 0));
	post(post_recv, rogue.mem + WORDS);
	join(argv[1], strtoull(argv[2], NULL, 0));
	if (argc == 4 && !strcmp(argv[3], "talk"))
		talk();
	if (argc == 4 && !strcmp(argv[3], "leave"))
		leave();
	for (int i = 3; i < argc; i++)
		rogue.mem[i - 3] = htobe64(strtoull(argv[i], NULL, 0));
	if (argc > 3)
		post(post_send, rogue.mem);
	MUST(dat_evd_wait(rogue.recv_evd, PATIENCE_US, 1, &event, &more));
	if (event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS) {
		puts("ended");
	} else {
		for (int i = 0; i < WORDS; i++)
			printf("%llu ", (unsigned long long)be64toh(rogue.mem[WORDS + i]));
		puts("");
	}
	dat_ia_close(rogue.ia, DAT_CLOSE_ABRUPT_FLAG);
	return 0;
}

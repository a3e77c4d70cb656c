/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The arena: its pieces do not overlap, and are reused after they have been freed. The checks of what a peer says of its own arena.
 * The instance data of an adapter, and the realm.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "providers/soft/arena.h"
#include "providers/soft/param.h"
#include "providers/soft/peer.h"

#define PIECES 400

static struct soft_ia *ia;
static struct soft_mem pieces[PIECES];

static void arena_open(void)
{
	memset(pieces, 0, sizeof(pieces));
	ia = calloc(1, sizeof(*ia));
	REQUIRE(ia != NULL);
	REQUIRE(soft_arena_new(&ia->arena) == DATP_OK);
}

static void arena_close(void)
{
	soft_arena_put(ia ? ia->arena : NULL);
	free(ia);
	ia = NULL;
}

/* Returns how much of the arena has ever been given out. */
static uint64_t used(void)
{
	return ia->arena->size;
}

static uint64_t some_size(unsigned int *seed)
{
	return 1 + (uint64_t)rand_r(seed) % (rand_r(seed) % 20 ? 20000 : 5u << 20);
}

static void pieces_do_not_overlap_and_are_aligned(void)
{
	unsigned int seed = 3;

	for (uint32_t i = 0; i < PIECES; i++) {
		uint64_t size = some_size(&seed);

		REQUIRE(soft_arena_alloc(ia, (enum soft_kind)(i % 3), size, &pieces[i]) == DATP_OK);
		REQUIRE(pieces[i].size >= size);
		REQUIRE_EQ_INT((uintptr_t)pieces[i].addr %
				       (pieces[i].size < 4096 ? pieces[i].size : 4096),
			       0);
		memset(pieces[i].addr, (int)(i & 0xff), size < 4096 ? size : 4096);
		CHECK(soft_arena_at(ia->arena, &pieces[i].ref, size) == pieces[i].addr);
	}
	for (uint32_t i = 0; i < PIECES; i++)
		CHECK_EQ_INT(*(unsigned char *)pieces[i].addr, i & 0xff);
}

static void pieces_given_back_are_used_again(void)
{
	unsigned int seed = 3, again = 3;
	uint64_t size = 0;

	for (int round = 0; round < 20; round++, seed = again) {
		for (uint32_t i = 0; i < PIECES; i++)
			REQUIRE(soft_arena_alloc(ia, (enum soft_kind)(i % 3), some_size(&seed),
						 &pieces[i]) == DATP_OK);
		if (!round)
			size = used();
		for (uint32_t i = 0; i < PIECES; i++)
			soft_arena_free(ia, &pieces[i]);
	}
	CHECK_EQ_INT(used(), size);
}

static void piece_serves_its_own_kind_again(void)
{
	struct soft_mem ring, port, other;
	void *at;

	REQUIRE(soft_arena_alloc(ia, SOFT_KIND_RING, 5000, &ring) == DATP_OK);
	at = ring.addr;
	memset(at, 0x55, 5000);
	soft_arena_free(ia, &ring);
	REQUIRE(soft_arena_alloc(ia, SOFT_KIND_PORT, 5000, &port) == DATP_OK);
	REQUIRE(soft_arena_alloc(ia, SOFT_KIND_OTHER, 5000, &other) == DATP_OK);
	REQUIRE(soft_arena_alloc(ia, SOFT_KIND_RING, 5000, &ring) == DATP_OK);
	CHECK(ring.addr == at && ring.used_before);
	CHECK_EQ_INT(*(unsigned char *)at, 0x55);
	CHECK(port.addr != at && other.addr != at);
}

static void other_pieces_are_zeroed(void)
{
	static const unsigned char zeros[8192];

	for (uint64_t size = 300; size <= 8192; size += 3946) {
		REQUIRE(soft_arena_alloc(ia, SOFT_KIND_OTHER, size, &pieces[0]) == DATP_OK);
		memset(pieces[0].addr, 0x55, size);
		soft_arena_free(ia, &pieces[0]);
		REQUIRE(soft_arena_alloc(ia, SOFT_KIND_OTHER, size, &pieces[0]) == DATP_OK);
		CHECK_EQ_MEM(pieces[0].addr, zeros, size);
	}
}

static void place_outside_an_extent_is_none(void)
{
	struct soft_ref ref;

	REQUIRE(soft_arena_alloc(ia, SOFT_KIND_PORT, 5000, &pieces[0]) == DATP_OK);
	ref = pieces[0].ref;
	CHECK(soft_arena_at(ia->arena, &ref, ref.extent_len - ref.offset) != NULL);
	CHECK(soft_arena_at(ia->arena, &ref, ref.extent_len - ref.offset + 1) == NULL);
	CHECK(soft_arena_at(ia->arena, &ref, UINT64_MAX) == NULL);
	ref.offset = UINT64_MAX - 63;
	CHECK(soft_arena_at(ia->arena, &ref, 64) == NULL);
	ref = pieces[0].ref;
	ref.extent += 4096;
	CHECK(soft_arena_at(ia->arena, &ref, 64) == NULL);
}

/* ------------------------------------------------------------------ a peer's memory */

/* Returns a peer whose arena is this one, mapped as by another process. */
static struct soft_peer other_process(void)
{
	return (struct soft_peer){ .ia = ia, .arena_fd = ia->arena->fd, .sender_id = 1 };
}

static void only_memory_that_a_peer_has_is_mapped(void)
{
	struct soft_peer peer = other_process();
	struct soft_ref ref;
	unsigned char *there;

	REQUIRE(soft_arena_alloc(ia, SOFT_KIND_PORT, 5000, &pieces[0]) == DATP_OK);
	ref = pieces[0].ref;
	*(unsigned char *)pieces[0].addr = 0x77;
	there = soft_peer_map(&peer, &ref, 5000);
	REQUIRE(there != NULL);
	CHECK(there != pieces[0].addr);
	CHECK_EQ_INT(*there, 0x77);
	CHECK(soft_peer_map(&peer, &ref, 5000) == there);
	CHECK(soft_peer_map(&peer, &ref, ref.extent_len + 1) == NULL);
	ref.extent_len = 1ull << 41; /* beyond the end of the file: an access there would raise SIGBUS */
	CHECK(soft_peer_map(&peer, &ref, 5000) == NULL);
	ref.extent_len = UINT64_MAX - 4095;
	CHECK(soft_peer_map(&peer, &ref, 5000) == NULL);
	ref = pieces[0].ref;
	ref.extent = 1ull << 41;
	CHECK(soft_peer_map(&peer, &ref, 5000) == NULL);
	ref = pieces[0].ref;
	ref.extent++; /* no longer at the beginning of a page */
	ref.extent_len--;
	CHECK(soft_peer_map(&peer, &ref, 64) == NULL);
	ref = pieces[0].ref;
	ref.offset++;
	CHECK(soft_peer_map(&peer, &ref, 64) == NULL);
	ref.extent_len = 0;
	CHECK(soft_peer_map(&peer, &ref, 0) == NULL);
	munmap((void *)((uintptr_t)there - pieces[0].ref.offset), pieces[0].ref.extent_len);
	free(peer.maps);
}

static void ring_or_port_that_does_not_fit_is_none(void)
{
	struct soft_peer peer = { .ia = ia, .arena = ia->arena };
	struct soft_layout layout = { .rq_stride = sizeof(struct soft_desc),
				      .sq_stride = sizeof(struct soft_sqe) };
	struct soft_ring *ring;
	struct soft_port *port;
	uint32_t mask;

	REQUIRE(soft_arena_alloc(ia, SOFT_KIND_RING, 1 << 20, &pieces[0]) == DATP_OK);
	ring = pieces[0].addr;
	ring->mask = 127;
	CHECK(soft_peer_ring(&peer, &pieces[0].ref, &mask) == ring);
	CHECK_EQ_INT(mask, 127);
	ring->mask = UINT32_MAX;
	CHECK(soft_peer_ring(&peer, &pieces[0].ref, &mask) == NULL);
	/* The cells alone are as long as the extent, so there is no room for the header and the reservations. */
	ring->mask = (uint32_t)(pieces[0].ref.extent_len / sizeof(ring->cell[0]) - 1) | 0x1fff;
	CHECK(soft_peer_ring(&peer, &pieces[0].ref, &mask) == NULL);
	ring->mask = 126; /* the number of cells is no power of two */
	CHECK(soft_peer_ring(&peer, &pieces[0].ref, &mask) == NULL);
	REQUIRE(soft_arena_alloc(ia, SOFT_KIND_PORT, 1 << 20, &pieces[1]) == DATP_OK);
	port = pieces[1].addr;
	CHECK(soft_peer_port(&peer, &pieces[1].ref, &layout) == port);
	layout.rq_mask = 1023;
	layout.rq_stride = 64;
	layout.rq_offset = sizeof(*port);
	CHECK(soft_peer_port(&peer, &pieces[1].ref, &layout) == port);
	layout.rq_offset++; /* not aligned */
	CHECK(soft_peer_port(&peer, &pieces[1].ref, &layout) == NULL);
	layout.rq_offset = 2u << 20;
	CHECK(soft_peer_port(&peer, &pieces[1].ref, &layout) == NULL);
	layout.rq_offset = UINT64_MAX - 64;
	CHECK(soft_peer_port(&peer, &pieces[1].ref, &layout) == NULL);
	layout.rq_offset = 0;
	layout.sq_mask = layout.sq_stride = UINT32_MAX;
	CHECK(soft_peer_port(&peer, &pieces[1].ref, &layout) == NULL);
	layout.sq_mask = 5;
	layout.sq_stride = sizeof(struct soft_sqe);
	CHECK(soft_peer_port(&peer, &pieces[1].ref, &layout) == NULL);
	layout.sq_mask = 7;
	CHECK(soft_peer_port(&peer, &pieces[1].ref, &layout) == port);
	layout.sq_stride -= 8; /* each entry is shorter than a request */
	CHECK(soft_peer_port(&peer, &pieces[1].ref, &layout) == NULL);
}

/* If the file grew beyond the limit on the size of files, the kernel would end the program by a signal. */
static void file_that_must_not_grow_is_no_memory(void)
{
	struct rlimit limit, little;
	enum datp_err err;

	REQUIRE(getrlimit(RLIMIT_FSIZE, &limit) == 0);
	little = limit;
	little.rlim_cur = (4 << 20) + 1;
	REQUIRE(setrlimit(RLIMIT_FSIZE, &little) == 0);
	arena_close();
	arena_open();
	CHECK_EQ_INT(soft_arena_alloc(ia, SOFT_KIND_OTHER, 4 << 20, &pieces[0]), DATP_OK);
	check_stderr_begin();
	err = soft_arena_alloc(ia, SOFT_KIND_OTHER, 4 << 20, &pieces[1]);
	CHECK_HAS_STR(check_stderr_end(), "ulimit -f");
	CHECK_EQ_INT(err, DATP_ERR_MEMORY);
	REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

/* Returns how many bytes of address space the process uses now, including a sanitizer's shadow memory. */
static uint64_t address_space(void)
{
	unsigned long long pages = 0;
	FILE *statm = fopen("/proc/self/statm", "r");

	REQUIRE(statm != NULL && fscanf(statm, "%llu", &pages) == 1);
	fclose(statm);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* If there is no address space for a large piece, small ones can still be had, and large ones again when there is some. */
static void piece_that_cannot_be_had_leaves_the_others(void)
{
	struct rlimit limit, little;
	enum datp_err err;

	REQUIRE(getrlimit(RLIMIT_AS, &limit) == 0);
	little = limit;
	little.rlim_cur = address_space() + (1ull << 30);
	REQUIRE(setrlimit(RLIMIT_AS, &little) == 0);
	check_stderr_begin();
	err = soft_arena_alloc(ia, SOFT_KIND_OTHER, 8ull << 30, &pieces[0]);
	CHECK_HAS_STR(check_stderr_end(), "ulimit -v");
	CHECK_EQ_INT(err, DATP_ERR_MEMORY);
	CHECK_EQ_INT(soft_arena_alloc(ia, SOFT_KIND_OTHER, 4 << 20, &pieces[0]), DATP_OK);
	REQUIRE(setrlimit(RLIMIT_AS, &limit) == 0);
	CHECK_EQ_INT(soft_arena_alloc(ia, SOFT_KIND_OTHER, 8ull << 30, &pieces[1]), DATP_OK);
}

/* A peer that has the descriptor can neither change the file's length nor add a seal. */
static void nobody_changes_the_file(void)
{
	struct stat st;

	CHECK(fcntl(ia->arena->fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE) < 0);
	CHECK(ftruncate(ia->arena->fd, 1 << 20) < 0);
	CHECK(ftruncate(ia->arena->fd, 1ll << 45) < 0);
	REQUIRE(fstat(ia->arena->fd, &st) == 0);
	CHECK_EQ_INT((uint64_t)st.st_size, ia->arena->file_len);
	CHECK_EQ_INT(st.st_blocks, 0); /* no page has been allocated */
}

static void only_a_file_that_keeps_its_pages_stays(void)
{
	int plain = memfd_create("plain", MFD_ALLOW_SEALING), null = open("/dev/null", O_RDWR);
	int huge = memfd_create("huge", MFD_ALLOW_SEALING | MFD_HUGETLB);

	CHECK(soft_file_stays(ia->arena->fd));
	CHECK(!soft_file_stays(plain));
	CHECK(!soft_file_stays(null));
	CHECK(!soft_file_stays(-1));
	REQUIRE(fcntl(plain, F_ADD_SEALS, F_SEAL_SHRINK) == 0);
	CHECK(soft_file_stays(plain));
	if (huge >= 0) { /* otherwise this kernel has no huge pages */
		REQUIRE(fcntl(huge, F_ADD_SEALS, F_SEAL_SHRINK) == 0);
		CHECK(!soft_file_stays(huge));
		close(huge);
	}
	close(plain);
	close(null);
}

/* ------------------------------------------------------------------ instance data */

static enum datp_err parse(const char *text)
{
	enum datp_err err;

	ia->base.name = "soft-test";
	check_stderr_begin();
	err = soft_param_parse(ia, text);
	check_stderr_end();
	return err;
}

static void instance_data_is_understood(void)
{
	CHECK_EQ_INT(parse(NULL), DATP_OK);
	CHECK(ia->want_cma);
	CHECK_EQ_INT(ia->eager_limit, SOFT_EAGER_DEFAULT);
	CHECK_EQ_STR(ia->key, "*");
	CHECK_EQ_INT(parse(" cma=off\teager_limit=64  "), DATP_OK);
	CHECK(!ia->want_cma);
	CHECK_EQ_INT(ia->eager_limit, 64);
	CHECK_EQ_INT(parse("cma=on eager_limit=1048576 127.0.0.7"), DATP_OK);
	CHECK(ia->want_cma);
	CHECK_EQ_INT(ia->eager_limit, 1 << 20);
	CHECK_EQ_STR(ia->key, "127.0.0.7");
	CHECK_EQ_INT(parse("share=unsealed memory=shared handshake_timeout=3600000"), DATP_OK);
	CHECK_EQ_INT(ia->want_memory, SOFT_MEMORY_SHARED);
	CHECK_EQ_INT(ia->want_share, SOFT_SHARE_UNSEALED);
	CHECK_EQ_INT(ia->handshake_ms, 3600000);
	CHECK_EQ_INT(ia->patience_ms, 1000);
	CHECK_EQ_INT(ia->eager_limit, SOFT_EAGER_DEFAULT);
	CHECK_EQ_INT(ia->eager_sure, SOFT_EAGER_SURE);
	CHECK_EQ_INT(parse("eager_limit=64k peer_timeout=2s"), DATP_OK);
	CHECK_EQ_INT(ia->eager_limit, 65536);
	CHECK_EQ_INT(ia->eager_sure, 65536);
	CHECK_EQ_INT(ia->patience_ms, 2000);
	CHECK_EQ_INT(parse("peer_timeout=1"), DATP_OK);
	CHECK_EQ_INT(ia->patience_ms, 1);
	CHECK_EQ_INT(parse("share=on"), DATP_OK);
	CHECK_EQ_INT(ia->want_share, SOFT_SHARE_ON);
	CHECK_EQ_INT(ia->handshake_ms, 30000);
	CHECK_EQ_INT(parse("lo"), DATP_OK);
	CHECK_EQ_STR(ia->key, "127.0.0.1");
}

static void instance_data_that_makes_no_sense_is_refused(void)
{
	static const char *const bad[] = {
		"peer_timeout=0", "peer_timeout=3600001", "peer_timeout=1m",
		"cma=",		  "cma=maybe",		 "eager_limit=",
		"eager_limit=63", "eager_limit=x",	 "eager_limit=64kb",
		"eager_limit=-1", "eager_limit=1048577", "nosuchinterface",
		"1.2.3.4.5",	  "colour=blue",	 "eager_limit=99999999999999999999",
		"CMA=on",	  "eager_limit= 100",	 "127.0.0.1 127.0.0.2",
		"0.0.0.0",	  "224.0.0.1",		 "eager_limit=+100",
		"share=sealed",	  "handshake_timeout=0", "handshake_timeout=3600001",
		"memory=public",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (parse(bad[i]) == DATP_OK)
			CHECK_FAIL("\"%s\" was taken", bad[i]);
}

static enum datp_err parse_realm(const char *realm)
{
	enum datp_err err;

	REQUIRE(setenv("DAT_SOFT_REALM", realm, 1) == 0);
	check_stderr_begin();
	err = soft_param_realm(ia);
	check_stderr_end();
	return err;
}

static void realm_is_a_plain_name(void)
{
	static const char *const bad[] = { "a/b", "*", "/", "two words", "a\n", "\303\244",
					   "12345678901234567890123456789012" };

	CHECK_EQ_INT(parse_realm("job-4.b_Z"), DATP_OK);
	CHECK_EQ_STR(ia->realm, "job-4.b_Z");
	CHECK_EQ_INT(parse_realm("1234567890123456789012345678901"), DATP_OK);
	CHECK_EQ_INT(parse_realm(""), DATP_OK);
	CHECK_EQ_STR(ia->realm, "");
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (parse_realm(bad[i]) == DATP_OK)
			CHECK_FAIL("\"%s\" was taken", bad[i]);
}

static const struct check_test arena_tests[] = { CHECK_TEST(pieces_do_not_overlap_and_are_aligned),
						 CHECK_TEST(pieces_given_back_are_used_again),
						 CHECK_TEST(piece_serves_its_own_kind_again),
						 CHECK_TEST(other_pieces_are_zeroed),
						 CHECK_TEST(place_outside_an_extent_is_none),
						 CHECK_TEST(only_memory_that_a_peer_has_is_mapped),
						 CHECK_TEST(ring_or_port_that_does_not_fit_is_none),
						 CHECK_TEST(file_that_must_not_grow_is_no_memory),
						 CHECK_TEST(piece_that_cannot_be_had_leaves_the_others),
						 CHECK_TEST(nobody_changes_the_file),
						 CHECK_TEST(only_a_file_that_keeps_its_pages_stays),
						 CHECK_END };

static const struct check_test param_tests[] = {
	CHECK_TEST(instance_data_is_understood),
	CHECK_TEST(instance_data_that_makes_no_sense_is_refused),
	CHECK_TEST(realm_is_a_plain_name), CHECK_END
};

static const struct check_suite arena = {
	.name = "arena", .setup = arena_open, .teardown = arena_close, .tests = arena_tests
};
static const struct check_suite param = {
	.name = "param", .setup = arena_open, .teardown = arena_close, .tests = param_tests
};

CHECK_SUITES(&arena, &param);

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RDMA requests of one segment into memory that the initiator maps (exec_short.c) have the outcome that the general way
 * (exec.c) gives them: the value that the post returns, the completions in their order, the state of the endpoint and
 * the bytes on both sides. Each case is posted in three connections: as it is; as it is, to a region that the initiator has noted
 * (soft_ep.near); and with a barrier fence, which makes every request take the general way.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "api.h"
#include "providers/soft/soft.h"

#define SIZE   ((size_t)4096)
#define MOST   ((DAT_VLEN)2048) /* max_rdma_size */
#define DEPTH  8
#define EVENTS (2 * DEPTH)
#define POSTS  (2 * DEPTH) /* of one case */

/* The regions of each side; `theirs` lie in memory that both processes have mapped before. */
enum region { PLAIN, OTHER_ZONE, READ_ONLY, WRITE_ONLY, NARROW_WINDOW, FREED, REGIONS };

struct offer {
	struct api_offer offer;
	DAT_RMR_CONTEXT context[REGIONS];
};

struct outcome {
	DAT_RETURN ret[POSTS];
	int events;
	struct {
		uint64_t cookie;
		DAT_DTO_COMPLETION_STATUS status;
		DAT_VLEN len;
	} event[EVENTS];
	DAT_EP_STATE state;
	unsigned char here[SIZE], there[SIZE];
};

static struct api_end end;
static struct offer theirs;
static struct {
	unsigned char *mem;
	DAT_LMR_CONTEXT context[REGIONS];
} ours;
static unsigned char *there; /* the owner's memory */
static DAT_COMPLETION_FLAGS way;
static struct outcome *outcome; /* of the case that is being posted */
static int posts;
static pid_t owner;

/* ------------------------------------------------------------------ the owner of the memory */

static const DAT_MEM_PRIV_FLAGS rights[REGIONS] = {
	[PLAIN] = DAT_MEM_PRIV_ALL_FLAG,
	[OTHER_ZONE] = DAT_MEM_PRIV_ALL_FLAG,
	[READ_ONLY] = DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_REMOTE_READ_FLAG,
	[WRITE_ONLY] = DAT_MEM_PRIV_LOCAL_WRITE_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG,
	[NARROW_WINDOW] = DAT_MEM_PRIV_ALL_FLAG,
	[FREED] = DAT_MEM_PRIV_ALL_FLAG
};

static void regions_make(unsigned char *mem, struct api_buf *made)
{
	DAT_PZ_HANDLE other = api_pz();

	for (int i = 0; i < REGIONS; i++)
		made[i] = api_buf_in(i == OTHER_ZONE ? other : api.pz, mem, SIZE, rights[i]);
	REQUIRE_DAT(dat_lmr_free(made[FREED].lmr), DAT_SUCCESS);
}

static void make_end(void)
{
	DAT_EP_ATTR attr = { .max_request_dtos = DEPTH,
			     .max_recv_dtos = DEPTH,
			     .max_rdma_size = MOST,
			     .request_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG };

	memset(&end, 0, sizeof(end));
	end.recv = api_evd(EVENTS, DAT_EVD_DTO_FLAG);
	end.request = api_evd(EVENTS, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);
	end.connect = api_evd(EVENTS, DAT_EVD_CONNECTION_FLAG);
	REQUIRE_DAT(dat_ep_create(api.ia, api.pz, end.recv, end.request, end.connect, &attr, &end.ep), DAT_SUCCESS);
}

/* Returns the context of a window onto the second quarter of the memory, which may only be read. */
static DAT_RMR_CONTEXT window_make(const struct api_buf *region)
{
	DAT_LMR_TRIPLET segment = api_seg(region, SIZE / 4, SIZE / 4);
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;

	REQUIRE_DAT(dat_rmr_create(api.pz, &rmr), DAT_SUCCESS);
	REQUIRE_DAT(dat_rmr_bind(rmr, &segment, DAT_MEM_PRIV_REMOTE_READ_FLAG, end.ep, api_cookie(5),
				 DAT_COMPLETION_DEFAULT_FLAG, &context),
		    DAT_SUCCESS);
	API_BIND(end.request, rmr, 5, DAT_RMR_BIND_SUCCESS);
	return context;
}

/* Serves a connection for each 'c' from the test, with a window of its own; 'd' disconnects it, 'q' ends. */
static void own(void *arg)
{
	struct api_buf made[REGIONS];
	DAT_EVD_HANDLE cr_evd;
	char step = 0;

	(void)arg;
	api_open();
	cr_evd = api_evd(8, DAT_EVD_CR_FLAG);
	api_offer_make(&theirs.offer, cr_evd, NULL);
	regions_make(there, made);
	for (int i = 0; i < REGIONS; i++)
		theirs.context[i] = made[i].rmr_context;
	check_put(CHECK_PARENT, &theirs, sizeof(theirs));
	while (check_get(CHECK_PARENT, &step, 1), step != 'q') {
		if (step == 'c') {
			make_end();
			REQUIRE_DAT(dat_cr_accept(api_cr(cr_evd), end.ep, 0, NULL), DAT_SUCCESS);
			API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
			theirs.context[NARROW_WINDOW] = window_make(&made[NARROW_WINDOW]);
			check_put(CHECK_PARENT, &theirs, sizeof(theirs));
		} else {
			REQUIRE_DAT(dat_ep_disconnect(end.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
			API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
			check_signal(CHECK_PARENT);
		}
	}
	api_close();
}

/* ------------------------------------------------------------------ the cases */

static void step(char what)
{
	check_put(owner, &what, 1);
}

static DAT_LMR_TRIPLET here_at(enum region region, size_t at, DAT_VLEN len)
{
	return (DAT_LMR_TRIPLET){ .lmr_context = ours.context[region],
				  .virtual_address = (DAT_VADDR)(uintptr_t)ours.mem + at,
				  .segment_length = len };
}

static DAT_RMR_TRIPLET there_at(enum region region, size_t at, DAT_VLEN len)
{
	return (DAT_RMR_TRIPLET){ .rmr_context = theirs.context[region],
				  .target_address = (DAT_VADDR)(uintptr_t)there + at,
				  .segment_length = len };
}

static void put(DAT_LMR_TRIPLET local, DAT_RMR_TRIPLET remote, DAT_COMPLETION_FLAGS flags)
{
	int n = posts++;

	outcome->ret[n] = api_write(end.ep, local, remote, (uint64_t)n, (DAT_COMPLETION_FLAGS)(flags | way));
}

static void get(DAT_LMR_TRIPLET local, DAT_RMR_TRIPLET remote, DAT_COMPLETION_FLAGS flags)
{
	int n = posts++;

	outcome->ret[n] = api_read(end.ep, local, remote, (uint64_t)n, (DAT_COMPLETION_FLAGS)(flags | way));
}

static void say(DAT_LMR_TRIPLET local, DAT_COMPLETION_FLAGS flags)
{
	int n = posts++;

	outcome->ret[n] = dat_ep_post_send(end.ep, 1, &local, api_cookie((uint64_t)n), (DAT_COMPLETION_FLAGS)(flags | way));
}

static void write_of(enum region from, enum region to, size_t from_at, size_t to_at, DAT_VLEN len)
{
	put(here_at(from, from_at, len), there_at(to, to_at, len), 0);
}

static void read_of(enum region to, enum region from, size_t to_at, size_t from_at, DAT_VLEN len)
{
	get(here_at(to, to_at, len), there_at(from, from_at, len), 0);
}

static void put_here(DAT_LMR_TRIPLET local, DAT_COMPLETION_FLAGS flags)
{
	put(local, there_at(PLAIN, 0, 8), flags);
}

/*
 * Suppressed requests behind one that is not, whose completion is taken, as is that of the next one. The completion of another one
 * is not taken, so one more suppressed request gives no place back.
 */
static void fill_behind(void (*suppressed)(DAT_LMR_TRIPLET, DAT_COMPLETION_FLAGS), enum region to, DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET local = here_at(PLAIN, 0, 8);
	DAT_EVENT event;

	put(local, there_at(PLAIN, 0, 8), DAT_COMPLETION_DEFAULT_FLAG);
	for (int i = 0; i < 3; i++)
		suppressed(local, DAT_COMPLETION_SUPPRESS_FLAG);
	for (int i = 0; i < 2; i++) {
		REQUIRE_DAT(dat_evd_dequeue(end.request, &event), DAT_SUCCESS);
		put(local, there_at(to, 0, 8), flags);
	}
	suppressed(local, DAT_COMPLETION_SUPPRESS_FLAG);
	for (int i = 0; i < DEPTH; i++)
		put(local, there_at(PLAIN, 0, 8), DAT_COMPLETION_DEFAULT_FLAG);
}

/* Returns false if there is no such case. */
static bool post_case(int number)
{
	DAT_LMR_TRIPLET local = here_at(PLAIN, 0, 8);
	DAT_RMR_TRIPLET remote = there_at(PLAIN, 0, 8);
	DAT_EVENT event;

	switch (number) {
	case 0: write_of(PLAIN, PLAIN, 8, 16, 8); break;
	case 1: write_of(PLAIN, PLAIN, 3, 5, 1); break;
	case 2: write_of(PLAIN, PLAIN, 3, 5, 101); break;
	case 3: write_of(PLAIN, PLAIN, 3, SIZE - MOST, MOST); break;
	case 4: put(here_at(PLAIN, 0, 0), there_at(PLAIN, 0, 8), 0); break;
	case 5: put(here_at(PLAIN, 0, 0), there_at(OTHER_ZONE, 0, 0), 0); break;
	case 6: put(here_at(PLAIN, 0, 8), there_at(PLAIN, 64, 32), 0); break;
	case 7: put(here_at(PLAIN, 0, 9), there_at(PLAIN, 64, 8), 0); break;
	case 8: read_of(PLAIN, PLAIN, 40, 24, 8); break;
	case 9: read_of(PLAIN, PLAIN, 41, 23, 63); break;
	case 10: get(here_at(PLAIN, 5, 200), there_at(PLAIN, 7, 100), 0); break;
	case 11: get(here_at(PLAIN, 5, 100), there_at(PLAIN, 7, 200), 0); break;
	case 12: get(here_at(PLAIN, 5, 100), there_at(PLAIN, 7, 0), 0); break;
	case 13: get(here_at(PLAIN, 0, MOST + 1), there_at(PLAIN, 7, 8), 0); break;
	case 14: write_of(PLAIN, PLAIN, 0, 0, MOST + 1); break;
	case 15: write_of(PLAIN, OTHER_ZONE, 0, 0, 8); break;
	case 16: write_of(PLAIN, READ_ONLY, 0, 0, 8); break;
	case 17: read_of(PLAIN, READ_ONLY, 0, 0, 8); break;
	case 18: write_of(PLAIN, WRITE_ONLY, 0, 0, 8); break;
	case 19: read_of(PLAIN, WRITE_ONLY, 0, 0, 8); break;
	case 20: write_of(PLAIN, FREED, 0, 0, 8); break;
	case 21: read_of(PLAIN, NARROW_WINDOW, 0, SIZE / 4, SIZE / 4); break;
	case 22: read_of(PLAIN, NARROW_WINDOW, 0, SIZE / 4 + 1, SIZE / 4); break;
	case 23: write_of(PLAIN, NARROW_WINDOW, 0, SIZE / 4, 8); break;
	case 24: write_of(PLAIN, PLAIN, 0, SIZE - 7, 8); break;
	case 25: remote.target_address = -(DAT_VADDR)4; put(local, remote, 0); break;
	case 26: local.virtual_address = -(DAT_VADDR)4; put(local, remote, 0); break;
	case 27: write_of(PLAIN, PLAIN, SIZE - 7, 0, 8); break;
	case 28: write_of(OTHER_ZONE, PLAIN, 0, 0, 8); break;
	case 29: write_of(FREED, PLAIN, 0, 0, 8); break;
	case 30: read_of(READ_ONLY, PLAIN, 0, 8, 8); break;
	case 31: write_of(READ_ONLY, PLAIN, 0, 8, 8); break;
	case 32: read_of(WRITE_ONLY, PLAIN, 0, 8, 8); break;
	case 33: remote.rmr_context = 0; put(local, remote, 0); break;
	case 34: remote.rmr_context = UINT32_MAX; put(local, remote, 0); break;
	case 35: remote.rmr_context++; put(local, remote, 0); break;
	case 36: local.lmr_context = UINT32_MAX; put(local, remote, 0); break;
	case 37: put(local, remote, DAT_COMPLETION_SUPPRESS_FLAG); break;
	case 38: put(local, remote, DAT_COMPLETION_UNSIGNALLED_FLAG); break;
	case 39: put(local, remote, DAT_COMPLETION_SOLICITED_WAIT_FLAG); break;
	case 40: /* a failure is reported though it is suppressed, and what comes behind it is flushed */
		remote.rmr_context++;
		put(local, remote, DAT_COMPLETION_SUPPRESS_FLAG);
		write_of(PLAIN, PLAIN, 0, 0, 8);
		break;
	case 41: /* order */
		put(local, remote, 0);
		put(here_at(PLAIN, 100, 16), remote, DAT_COMPLETION_SUPPRESS_FLAG);
		get(here_at(PLAIN, 200, 8), remote, 0);
		put(here_at(PLAIN, 200, 8), there_at(PLAIN, 300, 8), DAT_COMPLETION_SUPPRESS_FLAG);
		get(here_at(PLAIN, 400, 8), there_at(PLAIN, 300, 8), 0);
		break;
	case 42: /* the queue becomes full */
		for (int i = 0; i < DEPTH + 1; i++)
			put(local, remote, 0);
		break;
	case 43: /* suppressed completions do not fill the EVD, unless one that is not suppressed comes first */
		for (int i = 0; i < DEPTH + 1; i++)
			put(local, remote, DAT_COMPLETION_SUPPRESS_FLAG);
		break;
	case 44: /* the connection has ended */
		step('d');
		check_await(owner);
		API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
		put(local, remote, DAT_COMPLETION_SUPPRESS_FLAG);
		get(local, remote, 0);
		break;
	case 45: /* this side ends it */
		REQUIRE_DAT(dat_ep_disconnect(end.ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
		API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
		put(local, remote, 0);
		break;
	case 46: /* each right by itself, of a region that was used before */
		for (int i = 0; i < 4; i++)
			read_of(PLAIN, READ_ONLY, 8 * (size_t)i, 8, 8);
		write_of(PLAIN, READ_ONLY, 0, 0, 8);
		break;
	case 47:
		for (int i = 0; i < 4; i++)
			write_of(PLAIN, WRITE_ONLY, 8 * (size_t)i, 8 * (size_t)i, 8);
		read_of(PLAIN, WRITE_ONLY, 0, 0, 8);
		break;
	case 48:
		for (int i = 0; i < 4; i++)
			read_of(PLAIN, NARROW_WINDOW, 8 * (size_t)i, SIZE / 4, 8);
		write_of(PLAIN, NARROW_WINDOW, 0, SIZE / 4, 8);
		break;
	case 49: /* two regions in turn */
		for (int i = 0; i < 3; i++) {
			write_of(PLAIN, PLAIN, 8 * (size_t)i, 16 * (size_t)i, 8);
			write_of(PLAIN, WRITE_ONLY, 100, 16 * (size_t)i + 8, 8);
		}
		break;
	case 50: /* what has been suppressed between two completions gives its places back when the first of them has been taken */
		for (int i = 0; i < DEPTH; i++)
			put(local, remote, i % (DEPTH / 2) ? DAT_COMPLETION_SUPPRESS_FLAG : DAT_COMPLETION_DEFAULT_FLAG);
		REQUIRE_DAT(dat_evd_dequeue(end.request, &event), DAT_SUCCESS);
		for (int i = 0; i < 2; i++)
			put(local, remote, DAT_COMPLETION_SUPPRESS_FLAG);
		break;
	case 51: /* nothing is given back behind a completion that has not been taken */
		for (int i = 0; i < DEPTH + 1; i++)
			put(local, remote, i ? DAT_COMPLETION_SUPPRESS_FLAG : DAT_COMPLETION_DEFAULT_FLAG);
		break;
	case 52: /* the same if those before it have been suppressed; with sends, and the others take the general way */
		fill_behind(say, PLAIN, DAT_COMPLETION_BARRIER_FENCE_FLAG);
		break;
	case 53: fill_behind(put_here, PLAIN, DAT_COMPLETION_DEFAULT_FLAG); break;
	case 54: fill_behind(say, WRITE_ONLY, DAT_COMPLETION_DEFAULT_FLAG); break;
	default: return false;
	}
	return true;
}

/* Takes the completions. A failure breaks the connection, and everything posted has completed when that is reported. */
static void take_completions(void)
{
	bool failed = false;
	DAT_EVENT event;

	for (int turn = 0; turn < 2; turn++) {
		while (dat_evd_dequeue(end.request, &event) == DAT_SUCCESS) {
			const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event.event_data.dto_completion_event_data;
			int n = outcome->events++;

			REQUIRE(n < EVENTS && event.event_number == DAT_DTO_COMPLETION_EVENT);
			outcome->event[n].cookie = dto->user_cookie.as_64;
			outcome->event[n].status = dto->status;
			outcome->event[n].len = dto->status == DAT_DTO_SUCCESS ? dto->transfered_length : 0;
			failed = failed || (dto->status != DAT_DTO_SUCCESS && dto->status != DAT_DTO_ERR_FLUSHED);
		}
		if (failed && turn == 0)
			API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_BROKEN);
	}
}

/* How a case is posted. NOTED: after writes that have left the region PLAIN noted, so that it takes the shortest way. */
enum way { GENERAL, SHORT, NOTED };

static void note_plain(void)
{
	for (int i = 0; i < 3; i++)
		REQUIRE_DAT(api_write(end.ep, here_at(PLAIN, 0, 8), there_at(PLAIN, 0, 8), 0, DAT_COMPLETION_SUPPRESS_FLAG),
			    DAT_SUCCESS);
	REQUIRE(((struct soft_ep *)end.ep)->near.rights);
}

/* Posts a case over a connection of its own. Returns false if there is no such case. */
static bool run_case(int number, enum way by, struct outcome *result)
{
	bool more;

	memset(result, 0, sizeof(*result));
	outcome = result;
	posts = 0;
	way = by == GENERAL ? DAT_COMPLETION_BARRIER_FENCE_FLAG : DAT_COMPLETION_DEFAULT_FLAG;
	make_end();
	step('c');
	api_connect_to(&end, &theirs.offer.address, theirs.offer.qual);
	check_get(owner, &theirs, sizeof(theirs));
	if (by == NOTED)
		note_plain();
	api_fill(ours.mem, SIZE, 1);
	api_fill(there, SIZE, 2);
	more = post_case(number);
	take_completions();
	result->state = api_state(end.ep);
	memcpy(result->here, ours.mem, SIZE);
	memcpy(result->there, there, SIZE);
	api_end_free(&end);
	return more;
}

/* Memory of a file that both processes have, so that the initiator maps it once more as a peer does. */
static void *file_memory(void)
{
	int fd = memfd_create("opendat-short-test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	void *mem;

	REQUIRE(fd >= 0 && ftruncate(fd, (off_t)SIZE) == 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) == 0);
	mem = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	REQUIRE(mem != MAP_FAILED); /* the descriptor stays open, because the peer finds the file by it */
	return mem;
}

static void meet(void)
{
	struct api_buf made[REGIONS];

	there = file_memory();
	owner = check_fork(own, NULL);
	api_open();
	ours.mem = api_memory(SIZE);
	regions_make(ours.mem, made);
	for (int i = 0; i < REGIONS; i++)
		ours.context[i] = made[i].lmr_context;
	check_get(owner, &theirs, sizeof(theirs));
}

static void compare(int number, const struct outcome *is, const struct outcome *should)
{
	for (int i = 0; i < POSTS; i++)
		if (is->ret[i] != should->ret[i])
			CHECK_FAIL("case %d: post %d returned 0x%x, should be 0x%x", number, i, is->ret[i], should->ret[i]);
	if (is->events != should->events || memcmp(is->event, should->event, sizeof(is->event)) != 0)
		CHECK_FAIL("case %d: %d completions, should be %d; the first has cookie %d, status %d, length %d", number,
			   is->events, should->events, (int)is->event[0].cookie, (int)is->event[0].status,
			   (int)is->event[0].len);
	if (is->state != should->state)
		CHECK_FAIL("case %d: state %d, should be %d", number, (int)is->state, (int)should->state);
	if (memcmp(is->here, should->here, SIZE) != 0 || memcmp(is->there, should->there, SIZE) != 0)
		CHECK_FAIL("case %d: other bytes have been moved", number);
}

static void each_outcome_is_that_of_the_general_way(void)
{
	static struct outcome is, should;
	int number = 0;

	meet();
	while (run_case(number, GENERAL, &should)) {
		REQUIRE(run_case(number, SHORT, &is));
		compare(number, &is, &should);
		REQUIRE(run_case(number, NOTED, &is));
		compare(number, &is, &should);
		check_alive();
		number++;
	}
	CHECK_EQ_INT(number, 55);
	step('q');
	check_join(owner);
}

static const struct check_test tests[] = { CHECK_TEST(each_outcome_is_that_of_the_general_way), CHECK_END };

static const struct check_suite shorts = { .name = "short requests and others", .teardown = api_close, .tests = tests };

CHECK_SUITES(&shorts);

/* SPDX-License-Identifier: BSD-2-Clause */
/* The service thread at a queue that peers fill as fast as it is emptied. See bounds_test.c. */
#include <unistd.h>

#include "check.h"
#include "providers/soft/cq.h"
#include "providers/soft/skip.h"
#include "providers/soft/polling.h"
#include "providers/soft/recv.h"
#include "providers/soft/soft.h"

enum { LIMIT = 100000 }; /* far beyond any bound */

static unsigned int filled;

/* Plays a peer that has filled the queue again since it was emptied. */
static bool peer_fills_it(void)
{
	REQUIRE(++filled < LIMIT);
	return true;
}

#define soft_cq_arm(cq, how)	((void)(cq), peer_fills_it())
#define soft_cq_drain(cq)	((void)(cq))
#define soft_cq_release(cq)	((void)(cq))
#undef _GNU_SOURCE /* because ia.c defines it itself */
#include "providers/soft/ia.c"

void service_thread_leaves_a_queue_that_is_never_empty(void);

/* The service thread rings for itself, so that it comes back to that queue after its other work. */
void service_thread_leaves_a_queue_that_is_never_empty(void)
{
	struct soft_ia *ia = calloc(1, sizeof(*ia));
	struct soft_cq cq = { .ia = ia };
	uint64_t notified = 0;

	REQUIRE(ia != NULL);
	ia->service_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	REQUIRE(ia->service_fd >= 0);
	filled = 0;
	cq_serve(&cq);
	CHECK(filled > 0);
	CHECK_EQ_INT(read(ia->service_fd, &notified, sizeof(notified)), sizeof(notified));
	CHECK_EQ_INT(notified, 1);
	close(ia->service_fd);
	free(ia);
}

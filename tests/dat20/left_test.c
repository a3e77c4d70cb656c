/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An event whose endpoint has been freed, over a wrapper: another adapter's endpoint may have its memory by then, and must not
 * become one of the wrapper's. Usage: left_test WRAPPED PLAIN, two lines of one provider; wrapped.sh runs it.
 */
#include <stdio.h>
#include <string.h>

#include <dat2/udat.h>

#include "tests/dat20/report20.h"

#define SECONDS 10000000
#define MANY	8192 /* memory is used again only when there is no fresh one */

struct side {
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE async, dto, conn, cr;
};

static void opens(struct side *side, const char *name)
{
	side->async = DAT_HANDLE_NULL;
	SUCCEEDS(dat_ia_open((DAT_NAME_PTR)(unsigned long)name, 8, &side->async, &side->ia));
	SUCCEEDS(dat_pz_create(side->ia, &side->pz));
	SUCCEEDS(dat_evd_create(side->ia, 64, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &side->dto));
	SUCCEEDS(dat_evd_create(side->ia, 64, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &side->conn));
	SUCCEEDS(dat_evd_create(side->ia, 64, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &side->cr));
}

static DAT_EP_HANDLE endpoint(struct side *side)
{
	DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

	SUCCEEDS(dat_ep_create(side->ia, side->pz, side->dto, side->dto, side->conn, NULL, &ep));
	return ep;
}

static DAT_EVENT next(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event = { 0 };
	DAT_COUNT more;

	SUCCEEDS(dat_evd_wait(evd, SECONDS, 1, &event, &more));
	return event;
}

/* Returns the handle of an endpoint that has been freed while it was connected. */
static DAT_EP_HANDLE frees_one(struct side *side)
{
	DAT_EP_HANDLE active = endpoint(side), passive = endpoint(side);
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	DAT_IA_ATTR attr;

	SUCCEEDS(dat_ia_query(side->ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
	SUCCEEDS(dat_psp_create_any(side->ia, &qual, side->cr, DAT_PSP_CONSUMER_FLAG, &psp));
	SUCCEEDS(dat_ep_connect(active, attr.ia_address_ptr, qual, SECONDS, 0, NULL, DAT_QOS_BEST_EFFORT,
				DAT_CONNECT_DEFAULT_FLAG));
	SUCCEEDS(dat_cr_accept(next(side->cr).event_data.cr_arrival_event_data.cr_handle, passive, 0, NULL));
	for (int i = 0; i < 2; i++)
		expect(next(side->conn).event_number == DAT_CONNECTION_EVENT_ESTABLISHED, "there is no connection");
	SUCCEEDS(dat_ep_free(passive));
	return passive;
}

int main(int argc, char **argv)
{
	static DAT_EP_HANDLE others[MANY];
	DAT_EP_HANDLE freed;
	struct side wrapped, plain;
	DAT_EP_STATE state;
	int n = 0;

	if (argc != 3)
		return 99;
	opens(&wrapped, argv[1]);
	opens(&plain, argv[2]);
	freed = frees_one(&wrapped);
	while (!differs && n < MANY && !(n && others[n - 1] == freed))
		others[n++] = endpoint(&plain);
	expect(n && others[n - 1] == freed, "no endpoint has the memory of the one that was freed");
	report("a connection, and an endpoint of another adapter in the memory of one that was freed");
	for (int i = 0; i < 2; i++)
		expect(next(wrapped.conn).event_number == DAT_CONNECTION_EVENT_DISCONNECTED, "the end is not told");
	report("the end of a freed endpoint is told");
	SUCCEEDS(dat_ia_close(wrapped.ia, DAT_CLOSE_ABRUPT_FLAG));
	SUCCEEDS(dat_ep_get_status(others[n - 1], &state, NULL, NULL));
	SUCCEEDS(dat_ia_close(plain.ia, DAT_CLOSE_ABRUPT_FLAG));
	report("an endpoint in its memory is not affected");
	printf("1..%d\n", tests);
	return failed != 0;
}

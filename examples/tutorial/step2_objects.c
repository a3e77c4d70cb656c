/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Step 2 of opendat-tutorial(7): make the objects of one side, look at them, and free them.
 * open_side() and close_side() in tutorial.h are the step; this file shows what they made.
 *
 *	./step2_objects soft0
 */
#include "tutorial.h"

int main(int argc, char **argv)
{
	static struct side side;
	DAT_EP_STATE state;
	DAT_EVD_PARAM evd;
	DAT_LMR_PARAM lmr;

	open_side(&side, argc > 1 ? argv[1] : "soft0");

	MUST(dat_ep_get_status(side.ep, &state, NULL, NULL));
	printf("endpoint   %s\n", state == DAT_EP_STATE_UNCONNECTED ? "unconnected" : "in another state");
	MUST(dat_evd_query(side.recv_evd, DAT_EVD_FIELD_ALL, &evd));
	printf("EVD        holds %d events, 8 were asked for\n", evd.evd_qlen);
	MUST(dat_lmr_query(side.lmr, DAT_LMR_FIELD_ALL, &lmr));
	printf("LMR        %llu bytes, local key 0x%x, remote key 0x%x\n",
	       (unsigned long long)lmr.length, lmr.lmr_context, lmr.rmr_context);

	close_side(&side);
	return 0;
}

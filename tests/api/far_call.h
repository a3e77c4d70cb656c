/* SPDX-License-Identifier: BSD-2-Clause */
/* The messages between the two halves of the far side. */
#ifndef FAR_CALL_H
#define FAR_CALL_H

#include "far.h"

enum far_op {
	FAR_OPEN,
	FAR_CLOSE_IA,
	FAR_EXIT,
	FAR_QUIT,
	FAR_CR,
	FAR_ACCEPT,
	FAR_REJECT,
	FAR_DISCONNECT,
	FAR_RESET,
	FAR_EP_FREE,
	FAR_PSP_FREE,
	FAR_STATE,
	FAR_WAIT,
	FAR_DEQUEUE,
	FAR_RECV,
	FAR_SEND,
	FAR_WRITE,
	FAR_FILL,
	FAR_MISMATCH,
	FAR_CLEAR,
	FAR_LMR,
	FAR_LMR_FREE,
	FAR_BIND,
	FAR_RMR_FREE,
	FAR_OPS
};

struct far_call {
	enum far_op op;
	enum far_evd evd;
	int flags; /* close, completion or privilege flags */
	int count;
	DAT_COUNT size;
	DAT_TIMEOUT timeout;
	size_t offset, length;
	uint64_t cookie;
	DAT_RMR_TRIPLET remote;
	bool has_attr, own_ia, own_pz;
	DAT_EP_ATTR attr;
	unsigned char data[FAR_DATA_MAX];
};

struct far_reply {
	DAT_RETURN ret;
	uint64_t value[3];
	DAT_EVENT event;
	struct sockaddr_in address;
	struct far_cr cr;
};

void far_execute(const struct far_call *call, struct far_reply *reply);
void far_forget(void);

#endif /* FAR_CALL_H */

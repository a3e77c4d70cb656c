/* SPDX-License-Identifier: BSD-2-Clause */
/* The messages between the two halves of the remote side. */
#ifndef REMOTE_CALL_H
#define REMOTE_CALL_H

#include "remote.h"

enum remote_op {
	REMOTE_OPEN,
	REMOTE_CLOSE_IA,
	REMOTE_EXIT,
	REMOTE_QUIT,
	REMOTE_CR,
	REMOTE_ACCEPT,
	REMOTE_REJECT,
	REMOTE_DISCONNECT,
	REMOTE_RESET,
	REMOTE_EP_FREE,
	REMOTE_PSP_FREE,
	REMOTE_STATE,
	REMOTE_WAIT,
	REMOTE_DEQUEUE,
	REMOTE_RECV,
	REMOTE_SEND,
	REMOTE_WRITE,
	REMOTE_FILL,
	REMOTE_MISMATCH,
	REMOTE_CLEAR,
	REMOTE_LMR,
	REMOTE_LMR_FREE,
	REMOTE_BIND,
	REMOTE_RMR_FREE,
	REMOTE_OPS
};

struct remote_call {
	enum remote_op op;
	enum remote_evd evd;
	int flags; /* close, completion or privilege flags */
	int count;
	DAT_COUNT size;
	DAT_TIMEOUT timeout;
	size_t offset, length;
	uint64_t cookie;
	DAT_RMR_TRIPLET remote;
	bool has_attr, own_ia, own_pz;
	DAT_EP_ATTR attr;
	unsigned char data[REMOTE_DATA_MAX];
};

struct remote_reply {
	DAT_RETURN ret;
	uint64_t value[3];
	DAT_EVENT event;
	struct sockaddr_in address;
	struct remote_cr cr;
};

void remote_execute(const struct remote_call *call, struct remote_reply *reply);
void remote_forget(void);

#endif /* REMOTE_CALL_H */

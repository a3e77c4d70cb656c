/* SPDX-License-Identifier: BSD-2-Clause */
/* The sockets between soft IAs, and the messages over them. */
#ifndef SOFT_SOCK_H
#define SOFT_SOCK_H

#include "peer.h"

enum soft_msg_type {
	SOFT_MSG_REQ = 1, /* active: the first message; carries the arena */
	SOFT_MSG_REP,	  /* passive: accepted; carries it too */
	SOFT_MSG_REJ,	  /* passive: `why` */
	SOFT_MSG_RTU,	  /* active: established; `liveness`: this socket stays open */
	SOFT_MSG_CANCEL,  /* active: it has given up */
	SOFT_MSG_DISC,	  /* either: the connection of `port` is over */
	SOFT_MSG_NOTIFY,	  /* either: asks the peer's service thread to look at its queues; mostly one byte long */
};

#define SOFT_MSG_MAGIC 0x0da7050fu

struct soft_msg {
	uint32_t magic, version;
	uint16_t type, pdata_len;
	uint32_t why; /* DAT_EVENT_NUMBER that the receiver is to report */
	uint32_t liveness;
	uint32_t port, gen;	  /* the receiver's endpoint */
	uint32_t my_port, my_gen; /* the sender's */
	struct soft_intro intro;
	struct soft_ref port_ref, ring_ref, request_ref, mailbox;
	struct soft_layout layout; /* of the port */
	uint64_t qual, port_qual;
	struct sockaddr_storage address;
	struct datp_ep_attr attr;
	unsigned char pdata[SOFT_PDATA_MAX];
};

/*
 * So many messages may wait to be sent over a socket: one about the end of each connection that an IA can have. A peer for which
 * more wait has gone on making connections without reading how earlier ones ended, which a stopped peer cannot do.
 */
#define SOFT_OUT_MAX SOFT_PORT_MAX

/* One socket. Any thread creates it, only the service thread ends it. Fields: soft_ia.lock. */
struct soft_socket {
	struct soft_ia *ia;
	int fd;
	struct datp_fork_fd fork_fd;
	struct datp_watch *watch;
	struct soft_retry *retry; /* active: the backlog was full, and it is not connected yet; service thread. connect.c */
	pid_t pid;
	bool active;		/* ours was the connect */
	bool liveness;		/* stays open while `peer` is used: if it hangs up, the peer has died */
	bool interim;		/* passive: `liveness` only until the peer names another one, so its hang-up alone says nothing */
	bool confirmed;		/* active: RTU or CANCEL has been sent, and the other side is to hang up unless `liveness` is set */
	struct soft_peer *peer; /* counted */
	struct soft_sp *sp;	/* passive, before its request */
	struct soft_cr *cr;	/* passive, request not answered */
	struct soft_ep *ep;	/* establishing */
	uint32_t gen;		/* of that endpoint's connection */
	uint64_t since;	  /* when the other side's present time limit began, in ms; pending.c */
	bool silent;	  /* passive: it has said nothing yet; counted in soft_ia.silent */
	struct soft_crowd *crowd; /* passive, not established: those of its process; pending.c */
	bool refused;	  /* passive: its request has been refused by the provider */
	bool answered;	  /* active: the answer is being handled, and its handler reports a cancel */
	uint32_t sender_id;    /* active: what we gave the peer, not yet known to be used */
	uint32_t my_sender_id; /* ours in the peer's rings, by this connection */
	struct soft_out *out, **out_tail;  /* messages that the kernel did not accept at once */
	uint32_t out_count;		  /* how many; at most SOFT_OUT_MAX */
	bool notify_owed;		  /* a notification waits behind them */
	bool out_wanted;		  /* messages wait, and the watch does not poll for room yet */
	bool starved;			  /* messages wait for kernel memory; see soft_sockets_retry() */
	/* Does the kernel let us copy to and from the other process? Asked before an arena is mapped; service thread */
	bool asked, copies;
	struct soft_probe *probe;	  /* it is not read before this has answered; probe.c. Service thread */
	struct soft_socket *next_asking;  /* of that probe */
	struct soft_kept *kept;		  /* the message that has led to the question; service thread */
	unsigned int holds;		  /* references by handlers of its messages; service thread */
	bool ended;			  /* it only waits for these references; service thread */
	struct soft_socket *next, **prev; /* soft_ia.sockets */
	/* soft_peer.sockets or soft_peer.accepted, or NULL if the socket is on neither list; soft_ia.lock */
	struct soft_socket **list_of_peer, *next_of_peer;
	bool looked_at; /* passive: the port has shown that the peer is connected; soft_ia.lock. established.c */
};

/*
 * Creates a socket that is not watched yet; the fd is closed on failure. `active`: this side has
 * connected. The service thread finds it from now on, and gives a passive one a time limit
 * (pending.c).
 */
struct soft_socket *soft_socket_new(struct soft_ia *ia, int fd, pid_t pid, bool active);
/* Gives the socket, which is not watched yet, another descriptor, and returns the old one. The caller holds up forks. */
int soft_socket_exchange(struct soft_socket *sock, int fd);
/* Puts the socket on one of the lists of its peer, and takes it off the other one; or takes it off both. ia.lock held. */
void soft_socket_list(struct soft_socket **list, struct soft_socket *sock);
void soft_socket_unlist(struct soft_socket *sock);
/*
 * Sends a message, with our arena if it is a REQ or REP. Returns false if the peer has gone. If SOFT_OUT_MAX messages wait, it
 * hangs up and returns false. ia.lock held.
 */
bool soft_socket_send(struct soft_socket *sock, const struct soft_msg *msg);
/*
 * The same for the message about the end of a connection (SOFT_MSG_DISC), which must not be lost if there is no memory to
 * queue it: *spare was allocated before by soft_out_for_end(), and is NULL afterwards if it was used. free() releases it.
 */
struct soft_out *soft_out_for_end(void);
bool soft_socket_send_by(struct soft_socket *sock, const struct soft_msg *msg, struct soft_out **spare);
/*
 * Has the peer's service thread look at all of its queues. It never waits and needs no memory: if the
 * kernel does not accept the message, one notification is noted as owed. Returns false if the peer has
 * gone. ia.lock held.
 */
bool soft_socket_notify(struct soft_socket *sock);
/* Sends what the kernel had no memory for, if it has some now. Returns true if something is left. Service thread. */
bool soft_sockets_retry(struct soft_ia *ia);
/* Starts watching: after this the service thread may end it at any time. */
enum datp_err soft_socket_watch(struct soft_socket *sock);
/* Reads and handles what has arrived, which may end the socket. Service thread. */
void soft_socket_read(struct soft_socket *sock);
/* The same; returns false if that has ended the socket. Service thread. */
bool soft_socket_catch_up(struct soft_socket *sock);
/* The probe of this socket has answered: handles the message that has waited for that, and reads on. Service thread. */
void soft_socket_resume(struct soft_socket *sock);
/* Ends the socket. Service thread, or the socket is not watched. */
void soft_socket_end(struct soft_socket *sock);
void soft_sockets_fini(struct soft_ia *ia);

/*
 * setup.c handles by these what sock.c reads. The handler owns the arena's descriptor, which may
 * be -1. Service thread, no lock.
 */
void soft_conn_message(struct soft_socket *sock, struct soft_msg *msg, int arena_fd);
void soft_conn_hangup(struct soft_socket *sock);

/* The abstract name of a listener. Returns the length for bind/connect. */
socklen_t soft_listener_name(struct sockaddr_storage *sa, const char *realm, const char *key,
			     uint64_t qual);
bool soft_same_user(int fd, pid_t *pid);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A peer of an iWARP adapter that uses neither rdma_cm nor verbs: it writes MPA and DDP (RFC 5044, RFC 5041, RFC 5040) to a TCP
 * socket, right or wrong. Its functions REQUIRE what TCP must grant, and return what depends on the victim.
 */
#ifndef FABRIC_MPA_H
#define FABRIC_MPA_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	MPA_HEAD = 20, /* bytes of a request or a reply before its private data */
	/* flags of a request or a reply */
	MPA_MARKERS = 0x80,
	MPA_CRC = 0x40,
	MPA_REJECT = 0x20,
	MPA_ENHANCED = 0x10,
	MPA_ROOM = 70000, /* for anything that is sent */
	MPA_PAYLOAD = 32, /* bytes of a short message */
};

/*
 * What is sent to a peer that is in the middle of a connection, and what is wrong with it. A segment that is shorter than its
 * header is left out: by its source, siw of Linux 6.1 computes a negative length from it.
 */
enum mpa_wrong {
	MPA_RESET,	    /* TCP's reset */
	MPA_FIN,	    /* TCP's end without a word */
	MPA_GARBAGE,	    /* random bytes */
	MPA_VERSION,	    /* another version of DDP */
	MPA_OPCODE,	    /* an opcode that RDMAP does not have */
	MPA_QUEUE,	    /* a queue that RDMAP does not have */
	MPA_NUMBER,	    /* a message that is not the next */
	MPA_OFFSET,	    /* a message that begins beyond its receive */
	MPA_KEY,	    /* a write to memory that is not registered */
	MPA_ANSWER,	    /* the answer to a read that nobody has posted */
	MPA_TERMINATE,	    /* a message that ends the connection, of random bytes */
	MPA_READ,	    /* a read of memory that is not registered, to memory that is not either */
	MPA_LONG,	    /* a send that is longer than its receive */
	MPA_WRONGS,
	MPA_HALF = MPA_WRONGS, /* a part of a segment, and nothing more */
	MPA_NOTHING
};

/* Connects to the address and port by TCP. */
int mpa_reach(const struct sockaddr_in *at);
/* Listens there, and takes one connection. */
int mpa_listen(const struct sockaddr_in *at);
int mpa_take(int listener);

/*
 * Writes a request (or a reply) into `out`, which has MPA_ROOM bytes, with zeros as its private data. `claimed` is the length of
 * these by the header, `carried` how many there are. Returns the length in all.
 */
size_t mpa_request(unsigned char *out, unsigned int flags, unsigned int revision, unsigned int claimed, size_t carried);
size_t mpa_reply(unsigned char *out, unsigned int flags, unsigned int revision, unsigned int claimed, size_t carried);

/* Sends the bytes. Returns false if the victim has closed the connection. */
bool mpa_say(int fd, const void *bytes, size_t size);
/* Reads a request or a reply with its private data. Returns its flags, or -1 if the victim closes the connection instead. */
int mpa_hear(int fd);
/* Returns true if the victim closes the connection within `ms` milliseconds. */
bool mpa_is_closed(int fd, unsigned int ms);
/* Sends the first message of the connection, in the given way wrong. After MPA_RESET the socket is closed. */
void mpa_do(int fd, enum mpa_wrong wrong, uint64_t *seed);
/*
 * Sends message `number` of the connection, of MPA_PAYLOAD random bytes, with a checksum that is right or wrong. The victim checks
 * it if the request or the reply had MPA_CRC.
 */
void mpa_send_summed(int fd, uint32_t number, bool right, uint64_t *seed);
/* Closes the socket with a reset instead of TCP's orderly end. */
void mpa_reset(int fd);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* The conventions on the wire that other implementations share. */
#ifndef RDMA_WIRE_H
#define RDMA_WIRE_H

#include "rdma.h"

/* Returns the port that stands for a connection qualifier, or 0 if none does. */
uint16_t rdma_wire_port(uint64_t qual);
/* The messages that carry private data. In a rejection they follow the word of rdma_wire_reject(). */
enum rdma_message { RDMA_REQUEST, RDMA_REPLY, RDMA_REJECTION };
/* Writes private data into `wire` as they are sent; sets private_data, its length and the retry count in `param`. */
void rdma_wire_pack(const struct rdma_kind *kind, enum rdma_message what, const void *data,
		    uint32_t len, unsigned char wire[RDMA_PDATA_MAX], struct rdma_conn_param *param);
/* Returns how many bytes of the received private data the consumer gets. */
uint32_t rdma_wire_length(const struct rdma_kind *kind, enum rdma_message what,
			  const struct rdma_conn_param *param);
/* Returns true if the consumer does not get all that was sent: the rest is not padding. */
bool rdma_wire_is_cut(const struct rdma_kind *kind, enum rdma_message what,
		      const struct rdma_conn_param *param);
/* Returns true if private data do not fit into a connection request, and go in two parts, 1 and 2, each in a request of its own. */
bool rdma_wire_in_parts(const struct rdma_kind *kind, uint32_t len);
void rdma_wire_pack_part(const struct rdma_kind *kind, const unsigned char *data, uint32_t len,
			 int part, unsigned char wire[RDMA_PDATA_MAX]);
/* Returns which part a connection request carries, or 0 if its data are no part. *total is the length of both. */
int rdma_wire_part(const struct rdma_kind *kind, const struct rdma_conn_param *param,
		   uint32_t *total);
/* The word by which the rejection of a first part asks for the second. */
void rdma_wire_more(unsigned char word[RDMA_REJECT_BYTES]);
bool rdma_wire_is_more(const struct rdma_conn_param *param);
/* The word that precedes a consumer's rejection, and distinguishes it from one of the transport. */
void rdma_wire_reject(unsigned char word[RDMA_REJECT_BYTES]);
bool rdma_wire_is_reject(const struct rdma_conn_param *param);
/* Returns how many bytes of private data a rejection can have. */
uint32_t rdma_wire_reject_max(const struct rdma_kind *kind);
/*
 * Writes a consumer's rejection with private data, and returns its length. `len` is at most max_reject_data.
 */
uint8_t rdma_wire_pack_reject(const struct rdma_kind *kind, const void *data, uint32_t len,
			      unsigned char wire[RDMA_PDATA_MAX]);
/* Returns how many bytes of private data the consumer gets of a rejection, and where they are. */
uint32_t rdma_wire_reject_length(const struct rdma_kind *kind, const struct rdma_conn_param *param,
				 const unsigned char **data);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* What must agree with other implementations. */
#ifndef RDMA_WIRE_H
#define RDMA_WIRE_H

#include "rdma.h"

/* The port that stands for a connection qualifier; 0: none does. */
uint16_t rdma_wire_port(uint64_t qual);
enum rdma_message { RDMA_REQUEST, RDMA_REPLY };
/* Private data as it goes onto the wire: sets private_data, its length, and the retry count. */
void rdma_wire_pack(const struct rdma_kind *kind, enum rdma_message what, const void *data,
		    uint32_t len, unsigned char wire[RDMA_PDATA_MAX], struct rdma_conn_param *param);
/* How much of what came is the consumer's. */
uint32_t rdma_wire_length(const struct rdma_kind *kind, enum rdma_message what,
			  const struct rdma_conn_param *param);
/* Whether something behind that is no padding: the consumer is not given all that was sent. */
bool rdma_wire_is_cut(const struct rdma_kind *kind, enum rdma_message what,
		      const struct rdma_conn_param *param);
/* Data beyond what a request holds go in two of them, numbered 1 and 2. */
bool rdma_wire_in_parts(const struct rdma_kind *kind, uint32_t len);
void rdma_wire_pack_part(const struct rdma_kind *kind, const unsigned char *data, uint32_t len,
			 int part, unsigned char wire[RDMA_PDATA_MAX]);
/* 0: it is no part. */
int rdma_wire_part(const struct rdma_kind *kind, const struct rdma_conn_param *param,
		   uint32_t *total);
/* The rejection of a first part, which asks for the second. */
void rdma_wire_more(unsigned char word[RDMA_REJECT_BYTES]);
bool rdma_wire_is_more(const struct rdma_conn_param *param);
/* The word in front of a rejection's data, which tells it from the transport's own. */
void rdma_wire_reject(unsigned char word[RDMA_REJECT_BYTES]);
bool rdma_wire_is_reject(const struct rdma_conn_param *param);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* ipmi_dev.c - commands to this node's own BMC, by /dev/ipmi0. */
#include <errno.h>
#include <fcntl.h>
#include <linux/ipmi.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>

#include "collect/bmc/rmcp_priv.h"

int ipmi_dev_open(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int ipmi_dev_do(int fd, const struct ipmi_ask *ask, uint32_t timeout_ms, uint8_t answer[IPMI_DATA],
		uint8_t *code)
{
	static long last;
	struct ipmi_system_interface_addr to = { .addr_type = IPMI_SYSTEM_INTERFACE_ADDR_TYPE,
						 .channel = IPMI_BMC_CHANNEL,
						 .lun = ask->lun };
	unsigned char data[IPMI_DATA + 1];
	struct ipmi_req req = { .addr = (unsigned char *)&to,
				.addr_len = sizeof(to),
				.msgid = ++last,
				.msg = { .netfn = ask->netfn,
					 .cmd = ask->cmd,
					 .data = (unsigned char *)ask->data,
					 .data_len = (unsigned short)ask->len } };
	struct ipmi_addr from;
	struct ipmi_recv got = { .addr = (unsigned char *)&from,
				 .addr_len = sizeof(from),
				 .msg = { .data = data, .data_len = sizeof(data) } };
	struct pollfd p = { .fd = fd, .events = POLLIN };

	if (ioctl(fd, IPMICTL_SEND_COMMAND, &req) < 0)
		return -errno;
	do {
		int n = poll(&p, 1, (int)timeout_ms);

		if (n <= 0)
			return n ? -errno : -ETIMEDOUT;
		got.addr_len = sizeof(from);
		got.msg.data_len = sizeof(data);
		if (ioctl(fd, IPMICTL_RECEIVE_MSG_TRUNC, &got) < 0)
			return -errno;
	} while (got.msgid != last);
	if (!got.msg.data_len)
		return -EPROTO;
	*code = data[0];
	memcpy(answer, data + 1, got.msg.data_len - 1u);
	return *code ? -EREMOTEIO : got.msg.data_len - 1;
}

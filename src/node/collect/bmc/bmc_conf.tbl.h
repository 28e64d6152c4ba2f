/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bmc_conf.tbl.h - every setting of a BMC, once. The parser, bmc.conf(5) and the tests follow.
 *
 *	BMC_TEXT(key, bytes, default, "help")
 *	BMC_NUM(key, default, min, max, "help")
 *	BMC_FLAG(key, default, "help")
 */
/* clang-format off */
BMC_TEXT(url,      256, "", "address: https://HOST, ipmi://HOST[:PORT], or ipmi:/dev/ipmi0 for this node's own BMC")
BMC_TEXT(login,    256, "", "file with USER:PASSWORD, readable by its owner only (mode 0600); read at each login")
BMC_TEXT(ca,       256, "", "file of authorities that may sign the BMC's certificate; empty: the system's CAs")
BMC_TEXT(pin,      128, "", "instead of ca: the public key that the BMC must have, as sha256//BASE64")
BMC_TEXT(kind,      16, "node", "what the BMC belongs to: node, switch, power or cooling")
BMC_TEXT(rack,      32, "", "the rack of the BMC")
BMC_TEXT(position,  16, "", "position in the rack, such as 7 or U12")
BMC_NUM(interval,   10,  1, 3600, "seconds between two polls")
BMC_NUM(timeout,    10,  1,  120, "time limit for an answer, in seconds")
BMC_NUM(rate,        1,  1,  100, "requests per second, at most, besides metric reports")
BMC_NUM(resources, 8192, 16, 65536, "resources to read, at most")
BMC_FLAG(events,   true,  "subscribe to events as they happen, if the BMC supports it")
BMC_FLAG(insecure, false, "trust any server, also without TLS: whoever listens gets the password")
/* clang-format on */
#undef BMC_TEXT
#undef BMC_NUM
#undef BMC_FLAG

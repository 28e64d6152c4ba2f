/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bmc_conf.tbl.h - every setting of a BMC, once. The parser, bmc.conf(5) and the tests follow.
 *
 *	BMC_TEXT(key, bytes, default, "help")
 *	BMC_NUM(key, default, min, max, "help")
 *	BMC_FLAG(key, default, "help")
 */
/* clang-format off */
BMC_TEXT(url,      256, "", "where it is: https://HOST, ipmi://HOST[:PORT], or ipmi:/dev/ipmi0 for this node's own")
BMC_TEXT(login,    256, "", "file with USER:PASSWORD, for its owner only (mode 0600); it is read at each login")
BMC_TEXT(ca,       256, "", "file of certificates that its certificate must go back to (the system's unless told)")
BMC_TEXT(pin,      128, "", "instead: the public key that it must have, as sha256//BASE64")
BMC_TEXT(kind,      16, "node", "what it is of: node, switch, power or cooling")
BMC_TEXT(rack,      32, "", "the rack that it is in")
BMC_TEXT(position,  16, "", "where in the rack, as 7 or U12")
BMC_NUM(interval,   10,  1, 3600, "seconds between two looks")
BMC_NUM(timeout,    10,  1,  120, "seconds that an answer may take")
BMC_NUM(rate,        1,  1,  100, "requests a second, at most, besides metric reports")
BMC_NUM(resources, 8192, 16, 65536, "resources that are looked at, at most")
BMC_FLAG(events,   true,  "have it tell of events as they happen, where it can")
BMC_FLAG(insecure, false, "trust whoever answers, also without TLS: who listens gets the password")
/* clang-format on */
#undef BMC_TEXT
#undef BMC_NUM
#undef BMC_FLAG

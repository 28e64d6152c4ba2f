/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gauge.tbl.h - the telemetry of a GPU and its network card in the record of a step, and the
 * metrics it comes from.
 *
 *	GAUGE(field, HAVE, kind, metric, "label", "its value")
 *
 * field, HAVE  of model/step_rec.tbl.h
 * kind         NOW: the value; SUM: what was added since the last record, over all series that are named
 * label        of the series, if only those with this value count; NULL: all
 */
/* clang-format off */
GAUGE(sm_mhz,      SM,       NOW, 100,   NULL, NULL)
GAUGE(mem_mhz,     MEM,      NOW, 101,   NULL, NULL)
GAUGE(throttle,    THROTTLE, NOW, 112,   NULL, NULL)
GAUGE(temp_c,      TEMP,     NOW, 150,   NULL, NULL)
GAUGE(power_w,     POWER,    NOW, 155,   NULL, NULL)
GAUGE(pcie_replay, PCIE,     SUM, 202,   NULL, NULL)
GAUGE(ecc,         ECC,      SUM, 310,   NULL, NULL)
GAUGE(ecc,         ECC,      SUM, 311,   NULL, NULL)
GAUGE(ecc,         ECC,      SUM, 394,   NULL, NULL)
GAUGE(nvlink_err,  NVLINK,   SUM, 409,   NULL, NULL)
GAUGE(nvlink_err,  NVLINK,   SUM, 419,   NULL, NULL)
GAUGE(nvlink_err,  NVLINK,   SUM, 429,   NULL, NULL)
GAUGE(nic_retrans, RETRANS,  SUM, 30163, "kind", "packet_seq_err")
GAUGE(nic_retrans, RETRANS,  SUM, 30163, "kind", "local_ack_timeout_err")
GAUGE(nic_retrans, RETRANS,  SUM, 30163, "kind", "out_of_sequence")
GAUGE(nic_cnp,     CNP,      SUM, 30163, "kind", "rp_cnp_handled")
/* clang-format on */
#undef GAUGE

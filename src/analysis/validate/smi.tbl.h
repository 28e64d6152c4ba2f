/* SPDX-License-Identifier: Apache-2.0 */
/*
 * smi.tbl.h - what of nvidia-smi -q and of nvidia-smi -q -x is taken.
 *
 *	SMI(field of struct gpu_seen, how, "section|key of -q", "section|tag of -x")
 *
 * how: TEXT; NUMBER what it begins with; FLAG Enabled, Yes or Active is 1; FIRST a number that is printed once.
 * A section of "" is any.
 */
/* clang-format off */
SMI(name,        TEXT,   "|Product Name",                  "|product_name")
SMI(vbios,       TEXT,   "|VBIOS Version",                 "|vbios_version")
SMI(inforom,     TEXT,   "Inforom Version|Image Version",  "inforom_version|img_version")
SMI(persistence, FLAG,   "|Persistence Mode",              "|persistence_mode")
SMI(ecc,         FLAG,   "ECC Mode|Current",               "ecc_mode|current_ecc")
SMI(ecc,         FLAG,   "Ecc Mode|Current",               "ecc_mode|current_ecc")
SMI(ecc_next,    FLAG,   "ECC Mode|Pending",               "ecc_mode|pending_ecc")
SMI(ecc_next,    FLAG,   "Ecc Mode|Pending",               "ecc_mode|pending_ecc")
SMI(gen,         NUMBER, "PCIe Generation|Current",        "pcie_gen|current_link_gen")
SMI(gen_max,     NUMBER, "PCIe Generation|Max",            "pcie_gen|max_link_gen")
SMI(width,       NUMBER, "Link Width|Current",             "link_widths|current_link_width")
SMI(width_max,   NUMBER, "Link Width|Max",                 "link_widths|max_link_width")
SMI(pstate,      NUMBER, "|Performance State",             "|performance_state")
SMI(limit_W,     NUMBER, "GPU Power Readings|Current Power Limit", "gpu_power_readings|current_power_limit")
SMI(limit_W,     NUMBER, "Power Readings|Power Limit",     "power_readings|power_limit")
SMI(limit_W,     NUMBER, "GPU Power Readings|Power Limit", "gpu_power_readings|power_limit")
SMI(usual_W,     NUMBER, "GPU Power Readings|Default Power Limit", "gpu_power_readings|default_power_limit")
SMI(usual_W,     NUMBER, "Power Readings|Default Power Limit", "power_readings|default_power_limit")
SMI(most_W,      NUMBER, "GPU Power Readings|Max Power Limit", "gpu_power_readings|max_power_limit")
SMI(most_W,      NUMBER, "Power Readings|Max Power Limit", "power_readings|max_power_limit")
SMI(pending,     FLAG,   "Remapped Rows|Pending",          "remapped_rows|remapped_row_pending")
SMI(failed,      FLAG,   "Remapped Rows|Remapping Failure Occurred", "remapped_rows|remapped_row_failure")
SMI(memory_mib,  FIRST,  "FB Memory Usage|Total",          "fb_memory_usage|total")
SMI(slowed,      FLAG,   "Clocks Event Reasons|HW Slowdown", "clocks_event_reasons|clocks_event_reason_hw_slowdown")
SMI(slowed,      FLAG,   "Clocks Throttle Reasons|HW Slowdown", "clocks_throttle_reasons|clocks_throttle_reason_hw_slowdown")
/* clang-format on */
#undef SMI

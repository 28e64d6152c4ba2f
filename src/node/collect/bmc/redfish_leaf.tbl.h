/* SPDX-License-Identifier: Apache-2.0 */
/*
 * redfish_leaf.tbl.h - which properties of Redfish are measured, as which metric.
 *
 *	READING(unit or type of a reading, metric, factor, flags)
 *	LEAF(how, key, metric, label, factor, flags)
 *
 * READING is for Reading of a sensor or a fan: the first row that its ReadingUnits or ReadingType is.
 * LEAF: how is IS the key, or ENDS with it; the first row that fits. Redfish's own rule for names puts
 * the unit at their end, so that properties of vendors are understood, too. With a label, it says which
 * property it is. What fits no row is not measured.
 *
 * flags: NO_ZERO  a 0 says that there is none (no die has 0 degrees, no clock 0 MHz)
 *        QUIET    a counter of what should not happen: no series before it is above 0
 */
/* clang-format off */
READING("Cel",             "bmc_temperature_celsius", 1, NO_ZERO)
READING("Temperature",     "bmc_temperature_celsius", 1, NO_ZERO)
READING("W",               "bmc_power_watts",         1, 0)
READING("Power",           "bmc_power_watts",         1, 0)
READING("J",               "bmc_energy_joules_total", 1, NO_ZERO)
READING("EnergyJoules",    "bmc_energy_joules_total", 1, NO_ZERO)
READING("V",               "bmc_voltage_volts",       1, NO_ZERO)
READING("Voltage",         "bmc_voltage_volts",       1, NO_ZERO)
READING("A",               "bmc_current_amperes",     1, 0)
READING("Current",         "bmc_current_amperes",     1, 0)
READING("RPM",             "bmc_fan_rpm",             1, 0)
READING("Rotational",      "bmc_fan_rpm",             1, 0)
READING("Hz",              "bmc_clock_mhz",           1e-6, NO_ZERO)
READING("Frequency",       "bmc_clock_mhz",           1e-6, NO_ZERO)
READING("%",               "bmc_percent",             1, 0)
READING("Percent",         "bmc_percent",             1, 0)
READING("Humidity",        "bmc_percent",             1, 0)
READING("LiquidFlowLPM",   "bmc_flow_lpm",            1, 0)
READING("L/min",           "bmc_flow_lpm",            1, 0)
READING("PressurekPa",     "bmc_pressure_kpa",        1, 0)
READING("kPa",             "bmc_pressure_kpa",        1, 0)

LEAF(IS,   "ReadingCelsius",            "bmc_temperature_celsius", "",     1, NO_ZERO)
LEAF(IS,   "TemperatureCelsius",        "bmc_temperature_celsius", "",     1, NO_ZERO)
LEAF(IS,   "PowerConsumedWatts",        "bmc_power_watts",         "",     1, 0)
LEAF(IS,   "PowerWatts",                "bmc_power_watts",         "",     1, 0)
LEAF(IS,   "PowerInputWatts",           "bmc_power_watts",         "what", 1, 0)
LEAF(IS,   "InputPowerWatts",           "bmc_power_watts",         "what", 1, 0)
LEAF(IS,   "PowerOutputWatts",          "bmc_power_watts",         "what", 1, 0)
LEAF(IS,   "OutputPowerWatts",          "bmc_power_watts",         "what", 1, 0)
LEAF(IS,   "LastPowerOutputWatts",      "bmc_power_watts",         "what", 1, 0)
LEAF(IS,   "EnergyJoules",              "bmc_energy_joules_total", "",     1, NO_ZERO)
LEAF(IS,   "ReadingVolts",              "bmc_voltage_volts",       "",     1, NO_ZERO)
LEAF(IS,   "InputVoltage",              "bmc_voltage_volts",       "what", 1, NO_ZERO)
LEAF(IS,   "LineInputVoltage",          "bmc_voltage_volts",       "what", 1, NO_ZERO)
LEAF(IS,   "SpeedRPM",                  "bmc_fan_rpm",             "",     1, 0)
LEAF(IS,   "OperatingSpeedMHz",         "bmc_clock_mhz",           "",     1, NO_ZERO)
LEAF(IS,   "CurrentSpeedGbps",          "bmc_link_gbps",           "",     1, 0)
LEAF(IS,   "LanesInUse",                "bmc_pcie_lanes",          "",     1, 0)
LEAF(IS,   "RXBytes",                   "bmc_link_bytes_total",    "what", 1, 0)
LEAF(IS,   "TXBytes",                   "bmc_link_bytes_total",    "what", 1, 0)
LEAF(IS,   "LinkStatus",                "bmc_link_up",             "",     1, 0)
LEAF(IS,   "Health",                    "bmc_health",              "",     1, QUIET)
LEAF(IS,   "DetectorState",             "bmc_leak",                "",     1, 0)
LEAF(ENDS, "ThrottleDuration",          "bmc_throttle_seconds_total", "what", 1, QUIET)
LEAF(ENDS, "BandwidthGbps",             "bmc_bandwidth_gbps",      "what", 1, QUIET)
LEAF(ENDS, "BER",                       "bmc_bit_error_ratio",     "what", 1, NO_ZERO | QUIET)
LEAF(ENDS, "BitErrorRate",              "bmc_bit_error_ratio",     "what", 1, NO_ZERO | QUIET)
LEAF(ENDS, "ErrorCount",                "bmc_errors_total",        "what", 1, QUIET)
LEAF(ENDS, "Errors",                    "bmc_errors_total",        "what", 1, QUIET)
LEAF(ENDS, "Error",                     "bmc_errors_total",        "what", 1, QUIET)
LEAF(ENDS, "Discards",                  "bmc_errors_total",        "what", 1, QUIET)
LEAF(ENDS, "Dropped",                   "bmc_errors_total",        "what", 1, QUIET)
LEAF(ENDS, "MalformedPackets",          "bmc_errors_total",        "what", 1, QUIET)
LEAF(ENDS, "LinkDownedCount",           "bmc_errors_total",        "what", 1, QUIET)
LEAF(ENDS, "UnintentionalLinkDownCount", "bmc_errors_total",       "what", 1, QUIET)
LEAF(ENDS, "LinkErrorRecoveryCount",    "bmc_errors_total",        "what", 1, QUIET)
LEAF(ENDS, "ReplayCount",               "bmc_errors_total",        "what", 1, QUIET)
LEAF(ENDS, "ReplayRolloverCount",       "bmc_errors_total",        "what", 1, QUIET)
LEAF(ENDS, "L0ToRecoveryCount",         "bmc_errors_total",        "what", 1, QUIET)
LEAF(ENDS, "NAKReceivedCount",          "bmc_errors_total",        "what", 1, QUIET)
LEAF(ENDS, "NAKSentCount",              "bmc_errors_total",        "what", 1, QUIET)
LEAF(ENDS, "UnsupportedRequestCount",   "bmc_errors_total",        "what", 1, QUIET)
LEAF(ENDS, "RowRemappingCount",         "bmc_errors_total",        "what", 1, QUIET)
LEAF(ENDS, "PageRetirementCount",       "bmc_errors_total",        "what", 1, QUIET)
LEAF(ENDS, "Percent",                   "bmc_percent",             "what", 1, QUIET)
/* clang-format on */
#undef READING
#undef LEAF

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * redfish_tree.tbl.h - the way through a BMC's resources.
 *
 *	LINK(key)          a property whose link is followed; whatever is not here is left alone
 *	TYPE(name, use)    what a resource of that schema is for
 *
 * use: POLL    its values are measured: asked for in turn, unless metric reports have them all
 *      EXPAND  a collection of such: asked for as a whole, where the BMC can
 *      REPORT  values of many resources: asked for at each look
 *      REPORTS the collection of these: where the BMC can, it is asked for as a whole in their place
 *      LOG     a log's entries: new ones become events
 *      FACT    what it is made of: read with each discovery
 */
/* clang-format off */
LINK(Chassis)  LINK(Systems)  LINK(Members)  LINK(Sensors)
LINK(Thermal)  LINK(ThermalSubsystem)  LINK(ThermalMetrics)  LINK(Fans)  LINK(LeakDetection)  LINK(LeakDetectors)
LINK(Power)  LINK(PowerSubsystem)  LINK(PowerSupplies)  LINK(EnvironmentMetrics)
LINK(Processors)  LINK(ProcessorMetrics)  LINK(Metrics)  LINK(Ports)  LINK(Memory)  LINK(MemoryMetrics)  LINK(MemorySummary)
LINK(PCIeDevices)  LINK(NetworkAdapters)
LINK(TelemetryService)  LINK(MetricReports)
LINK(EventService)  LINK(UpdateService)  LINK(FirmwareInventory)  LINK(Bios)
LINK(LogServices)  LINK(Entries)
LINK(Managers)  LINK(Fabrics)  LINK(Switches)
LINK(PowerEquipment)  LINK(PowerShelves)  LINK(RackPDUs)  LINK(Outlets)  LINK(Circuits)
LINK(ThermalEquipment)  LINK(CDUs)  LINK(CoolantConnectors)

TYPE(Sensor, POLL)            TYPE(SensorCollection, EXPAND)
TYPE(Thermal, POLL)           TYPE(Power, POLL)
TYPE(ThermalMetrics, POLL)    TYPE(EnvironmentMetrics, POLL)
TYPE(Fan, POLL)               TYPE(FanCollection, EXPAND)
TYPE(PowerSupply, POLL)       TYPE(PowerSupplyCollection, EXPAND)
TYPE(PowerSupplyMetrics, POLL)
TYPE(LeakDetector, POLL)      TYPE(LeakDetectorCollection, EXPAND)
TYPE(ProcessorMetrics, POLL)  TYPE(MemoryMetrics, POLL)
TYPE(Port, POLL)              TYPE(PortCollection, EXPAND)
TYPE(PortMetrics, POLL)       TYPE(PCIeDevice, POLL)
TYPE(PowerDistributionMetrics, POLL)
TYPE(Outlet, POLL)            TYPE(Circuit, POLL)
TYPE(CoolantConnector, POLL)
TYPE(MetricReport, REPORT)    TYPE(MetricReportCollection, REPORTS)
TYPE(LogEntryCollection, LOG)
TYPE(SoftwareInventory, FACT) TYPE(Bios, FACT)  TYPE(Chassis, FACT)  TYPE(Processor, FACT)  TYPE(Manager, FACT)
TYPE(ComputerSystem, FACT)    TYPE(ServiceRoot, FACT)  TYPE(Switch, FACT)
TYPE(SoftwareInventoryCollection, EXPAND)
/* clang-format on */
#undef LINK
#undef TYPE

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * xid.tbl.h - what NVIDIA's driver reports by number and what it means, as its documentation of Xids has it.
 *
 *	FAULT(Xid, which alarm, "what it means")
 */
/* clang-format off */
FAULT(13,  XID, "an exception in a kernel: mostly the program's")
FAULT(31,  XID, "a kernel read or wrote where there is no memory: mostly the program's")
FAULT(43,  XID, "the GPU stopped working for the program")
FAULT(45,  XID, "the program's work was cleaned away after another fault")
FAULT(48,  ECC, "a memory error that could not be corrected")
FAULT(62,  XID, "the GPU's own controller has halted")
FAULT(63,  ECC, "a row of memory is to be replaced")
FAULT(64,  ECC, "a row of memory could not be replaced")
FAULT(74,  XID, "an error of NVLink")
FAULT(79,  XID, "the GPU has fallen off the bus")
FAULT(92,  ECC, "many memory errors, corrected")
FAULT(94,  ECC, "a memory error that ended one program")
FAULT(95,  ECC, "a memory error that may have reached several programs")
FAULT(119, XID, "the GPU's system processor does not answer")
FAULT(120, XID, "an error in the GPU's system processor")
FAULT(140, ECC, "a memory error that was not recovered from")
/* clang-format on */
#undef FAULT

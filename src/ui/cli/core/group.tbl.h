/* SPDX-License-Identifier: Apache-2.0 */
/* group.tbl.h - the headings of aon --help, in their order: GROUP(ID, "heading"). */
/* clang-format off */
GROUP(RECORD,  "Record")
GROUP(LOOK,    "Look")
GROUP(LIVE,    "Live")
GROUP(NODE,    "Node")
GROUP(CLUSTER, "Cluster")
GROUP(MODELS,  "Models")
GROUP(HELP,    "Help")
/* clang-format on */
#undef GROUP

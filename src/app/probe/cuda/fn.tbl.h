/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fn.tbl.h - every function of CUPTI that the probe calls, once.
 *
 *	FN(name, need, arguments)
 *
 * All return int (CUptiResult). need: MUST, or MAY be missing in the versions that aon runs with.
 */
/* clang-format off */
FN(GetVersion,                MUST, (uint32_t *version))
FN(Subscribe,                 MUST, (void **sub, cupti_callback_fn *fn, void *user))
FN(Unsubscribe,               MUST, (void *sub))
FN(EnableCallback,            MUST, (uint32_t on, void *sub, int domain, uint32_t cbid))
FN(EnableDomain,              MUST, (uint32_t on, void *sub, int domain))
FN(ActivityEnable,            MUST, (int kind))
FN(ActivityDisable,           MUST, (int kind))
FN(ActivityRegisterCallbacks, MUST, (cupti_request_fn *request, cupti_complete_fn *complete))
FN(ActivityFlushAll,          MUST, (uint32_t flag))
FN(ActivityGetNextRecord,     MUST, (uint8_t *buffer, size_t valid, void **record))
FN(GetTimestamp,              MUST, (uint64_t *ns))
FN(ActivityEnableAndDump,     MAY,  (int kind))
FN(ActivityFlushPeriod,       MAY,  (uint32_t ms))
FN(ActivitySetAttribute,      MAY,  (int attr, size_t *size, void *value))
FN(ActivityGetNumDroppedRecords, MAY, (void *context, uint32_t stream, size_t *dropped))
FN(GetCallbackName,           MAY,  (int domain, uint32_t cbid, const char **name))
FN(SetThreadIdType,           MAY,  (int type))
FN(ActivityEnableLatencyTimestamps, MAY, (uint8_t on))
FN(ActivityEnableHWTrace,     MAY,  (uint8_t on))                                          /* 12.8 */
FN(Subscribe_v2,              MAY,  (void **sub, cupti_callback_fn *fn, void *user, struct cupti_params *p)) /* 13.0 */
FN(ActivityEnable_v2,         MAY,  (void *sub, int kind, void *config))                   /* 13.2 */
FN(ActivityDisable_v2,        MAY,  (void *sub, int kind, void *config))
FN(ActivityEnableAndDump_v2,  MAY,  (void *sub, int kind, void *config))
FN(ActivityRegisterCallbacks_v2, MAY, (void *sub, cupti_request2_fn *request, cupti_complete2_fn *complete))
FN(ActivitySetAttribute_v2,   MAY,  (void *sub, int attr, size_t *size, void *value))
FN(ActivityGetAttribute_v2,   MAY,  (void *sub, int attr, size_t *size, void *value))
FN(ActivityGetEnabledKinds,   MAY,  (void *sub, int *kinds, uint32_t *room, uint32_t *count)) /* 13.2 */
FN(ActivityGetStructSize,     MAY,  (uint32_t kind, uint32_t version, size_t *size))
FN(GetTimestamp_v2,           MAY,  (void *sub, uint64_t *ns))                             /* 13.3 */
FN(ActivityGetNumDroppedRecords_v2, MAY, (void *sub, void *context, uint32_t stream, size_t *dropped)) /* 13.3 */
/* clang-format on */
#undef FN

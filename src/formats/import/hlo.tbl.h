/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hlo.tbl.h - what XLA's operations cost, once: HLO(FORM, "opcode ..."), with words as
 * HloCostAnalysis has them. An opcode that stands nowhere here has no cost that is known.
 *
 *	FREE    a name for something, no work
 *	HOLDS   runs others, which have costs of their own
 *	EACH    one operation for each element of the result, a call of exp() or the like too
 *	MOVE    none; all arguments are read, the result is written
 *	SLICE   as much is read as comes out
 *	UPDATE  as much is read and written as the second argument has
 */
/* clang-format off */
HLO(FREE,   "parameter constant get-tuple-element tuple bitcast after-all opt-barrier domain partition-id replica-id "
	    "add-dependency")
HLO(HOLDS,  "while conditional call")
HLO(EACH,   "abs acos acosh add and asin asinh atan2 atanh cbrt ceil clamp count-leading-zeros compare complex convert "
	    "cosine cosh divide erf exponential exponential-minus-one floor imag is-finite log log-plus-one logistic "
	    "maximum minimum multiply negate not or popcnt power real reduce-precision remainder round-nearest-afz "
	    "round-nearest-even rsqrt select shift-left shift-right-arithmetic shift-right-logical sign sine sinh sqrt "
	    "stochastic-convert subtract tan tanh xor rng rng-bit-generator")
HLO(MOVE,   "bitcast-convert broadcast concatenate copy iota pad reshape reverse transpose")
HLO(SLICE,  "slice dynamic-slice gather")
HLO(UPDATE, "dynamic-update-slice")
HLO(SCATTER, "scatter")
HLO(DOT,    "dot")
HLO(CONV,   "convolution")
HLO(REDUCE, "reduce")
HLO(WINDOW, "reduce-window")
HLO(MAP,    "map")
HLO(SORT,   "sort")
HLO(FUSION, "fusion")
HLO(CUSTOM, "custom-call")
/* clang-format on */
#undef HLO

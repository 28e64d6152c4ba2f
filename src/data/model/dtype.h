/* SPDX-License-Identifier: Apache-2.0 */
/* dtype.h - types of elements, by the names that PyTorch gives them. */
#pragma once

#include <stddef.h>
#include <string.h>

/* 0: not known. */
static inline unsigned dtype_bytes(const char *name, size_t len)
{
	static const struct {
		const char *name;
		unsigned bytes;
	} types[] = {
		{ "Float", 4 },        { "BFloat16", 2 },       { "Half", 2 },
		{ "Double", 8 },       { "Long", 8 },           { "Int", 4 },
		{ "Short", 2 },        { "Char", 1 },           { "Byte", 1 },
		{ "Bool", 1 },         { "Float8_e4m3fn", 1 },  { "Float8_e5m2", 1 },
		{ "ComplexFloat", 8 }, { "ComplexDouble", 16 },
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (strlen(types[i].name) == len && !memcmp(types[i].name, name, len))
			return types[i].bytes;
	return 0;
}

/* The number of PyTorch's type (c10::ScalarType) that C++ calls so, as Kineto writes it; -1: none. */
static inline int dtype_number(const char *name, size_t len)
{
	static const struct {
		const char *name;
		int number;
	} types[] = {
		{ "float", 6 },
		{ "c10::BFloat16", 15 },
		{ "c10::Half", 5 },
		{ "long int", 4 },
		{ "long", 4 },
		{ "bool", 11 },
		{ "double", 7 },
		{ "int", 3 },
		{ "unsigned char", 0 },
		{ "signed char", 1 },
		{ "short int", 2 },
		{ "short", 2 },
		{ "c10::complex<float>", 9 },
		{ "c10::complex<double>", 10 },
		{ "c10::Float8_e5m2", 23 },
		{ "c10::Float8_e4m3fn", 24 },
		{ "c10::Float8_e5m2fnuz", 25 },
		{ "c10::Float8_e4m3fnuz", 26 },
		{ "unsigned short", 27 },
		{ "unsigned int", 28 },
		{ "unsigned long", 29 },
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (strlen(types[i].name) == len && !memcmp(types[i].name, name, len))
			return types[i].number;
	return -1;
}

/* The same names from the short ones that probes put behind a collective's: "f32". NULL: none. */
static inline const char *dtype_of_short(const char *name, size_t len)
{
	static const char *const types[][2] = {
		{ "f32", "Float" },
		{ "bf16", "BFloat16" },
		{ "f16", "Half" },
		{ "f64", "Double" },
		{ "i64", "Long" },
		{ "i32", "Int" },
		{ "i16", "Short" },
		{ "i8", "Char" },
		{ "u8", "Byte" },
		{ "bool", "Bool" },
		{ "f8e4m3", "Float8_e4m3fn" },
		{ "f8e5m2", "Float8_e5m2" },
		{ "c64", "ComplexFloat" },
		{ "c128", "ComplexDouble" },
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (strlen(types[i][0]) == len && !memcmp(types[i][0], name, len))
			return types[i][1];
	return NULL;
}

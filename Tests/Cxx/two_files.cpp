/*
 * two_files.cpp - the other file of a program: header.cpp includes the same.
 *
 * SPDX-License-Identifier: MIT
 */
#include <inturn.hpp>

const std::error_category *category_elsewhere() { return &inturn::category(); }

/* Throws inside work of the other file's queue. */
void lose(inturn::token token) {
  const inturn::token inside = std::move(token);
  throw inturn::failure(11);
}

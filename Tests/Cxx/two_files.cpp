/*
 * two_files.cpp - the other file of a program, or a shared object that shows
 * no more than these functions: header.cpp includes the same.
 *
 * SPDX-License-Identifier: MIT
 */
#include <inturn.hpp>

#define SHOWN __attribute__((visibility("default")))

SHOWN const std::error_category *category_elsewhere() {
  return &inturn::category();
}

/* Throws inside work of the other file's queue. */
SHOWN void lose(inturn::token token) {
  const inturn::token inside = std::move(token);
  throw inturn::failure(11);
}

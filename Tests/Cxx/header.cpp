/*
 * header.cpp - the header in several files of one program, beside inturn.h and
 * its adapters' common part.
 *
 * SPDX-License-Identifier: MIT
 */
#include <inturn.h>
#include <inturn/loop.h>

#include "harness.hpp"

const std::error_category *category_elsewhere();
void lose(inturn::token token);

TEST(there_is_one_category_in_a_program) {
  CHECK(category_elsewhere() == &inturn::category());
}

TEST(files_share_what_they_know_of_the_work_that_is_under_way) {
  reports reports;
  stage stage;
  const inturn::operation operation = stage.queue.enqueue(lose);
  stage.drain();
  CHECK_EQUAL(operation.wait().code, 11);
  CHECK_EQUAL(reports.take(), "");
}

/*
 * header.cpp - header.c as C++.
 *
 * SPDX-License-Identifier: MIT
 */
#include "header.c"

// trace.hpp - prints a schedule that has failed: who did what, and where.
//
// SPDX-License-Identifier: MIT
//
// Places are printed as @ and an offset into the program; Tests/Model/run turns
// them into names and lines.
#ifndef MODEL_TRACE_HPP
#define MODEL_TRACE_HPP

#include <cstdint>

namespace model {

void traceSwitch(const char *from, const char *to);
void traceTime(int64_t now);
void traceNote(const char *thread, const char *text);
void traceFailure(const char *thread);

} // namespace model

#endif

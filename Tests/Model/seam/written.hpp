// written.hpp - what the engine writes to descriptors.
//
// SPDX-License-Identifier: MIT
#ifndef MODEL_WRITTEN_HPP
#define MODEL_WRITTEN_HPP

#include <string>

// All that was written since the last call.
std::string model_take_written();

#endif

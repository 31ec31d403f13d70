#pragma once
#include "cel/eval/frame.h"
#include "cel/eval/node.h"

namespace cardea::cel {

// matches, find and findAll with a pattern compiled beforehand.
Value run_pattern(Frame& frame, const Node& node, const Value* args);
Value regex_matches(Frame& frame, const Value* args, std::size_t count);
Value regex_find(Frame& frame, const Value* args, std::size_t count);
Value regex_find_all(Frame& frame, const Value* args, std::size_t count);

}  // namespace cardea::cel

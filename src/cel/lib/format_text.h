#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "cel/check/types.h"
#include "cel/eval/frame.h"

namespace cardea::cel {

// string.format(list). The plain form prints numbers in the same way everywhere. The localized
// form, which Kubernetes still has, groups thousands and writes powers of ten as in English text.
Value format_text(Frame& frame, const Value* args, std::size_t count);
Value format_text_localized(Frame& frame, const Value* args, std::size_t count);

// Whether a format is well formed and fits arguments of these kinds (null: unknown). `at` is the
// argument with the error.
bool check_format(std::string_view format, const std::vector<Type::Kind>* kinds, bool localized,
                  std::string& why, std::size_t& at);

}  // namespace cardea::cel

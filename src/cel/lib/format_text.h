#pragma once
#include "cel/frame.h"

namespace cardea::cel {

// string.format(list). The plain form prints numbers alike everywhere; the localized one, which Kubernetes
// still has, groups thousands and writes powers of ten as English text does.
Value format_text(Frame& frame, const Value* args, std::size_t count);
Value format_text_localized(Frame& frame, const Value* args, std::size_t count);

}  // namespace cardea::cel

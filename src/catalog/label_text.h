#pragma once
#include <string>

#include "json/value.h"

namespace cardea::catalog {

// Labels as users write them: `a=b,c=d`, sorted; "" for none.
std::string labels_text(const json::Value& labels);

// A label selector as users write it: `app=a,tier in (x,y),!old`; "" if it selects everything.
std::string selector_text(const json::Value& selector);

}  // namespace cardea::catalog

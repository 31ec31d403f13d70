#pragma once
#include <string>

#include "json/value.h"

// The conditions of an answer, for people.
namespace cardea::app {

// One line for each condition of one set, and one about its author: Deny, NoOpinion, then Allow.
std::string conditions_text(const json::Value& conditions, std::string_view author,
                            std::string_view indent = "  ");

// Those of a whole `conditionsChain`, and what its authorizers say besides.
std::string terms_text(const json::Value& chain);

// Whether such a chain may come to an Allow.
bool can_allow(const json::Value& chain);

}  // namespace cardea::app

#pragma once
#include <string>
#include <vector>

#include "authz/namespace_policy/documents.h"
#include "authz/namespace_policy/words.h"

namespace cardea::authz::namespace_policy {

// The words of a role that mean nothing in this cluster: unknown resources, subresources, verbs,
// API groups and fields. They are no errors, because a kind may come later; but most of them are
// misspelled, and a misspelled denial denies nothing. `rules[0].verbs[1]: unknown verb "gett"`.
std::vector<std::string> unknown_words(const Role& role, const std::string& at,
                                       const KindNames& kinds);

}  // namespace cardea::authz::namespace_policy

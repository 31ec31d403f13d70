#pragma once
#include <optional>
#include <string>
#include <vector>

#include "authz/namespace_policy/words.h"

namespace cardea::authz::namespace_policy {

// Words for streams: `exec` of `pods` means `pods/exec`.
bool is_stream_word(std::string_view verb);

// A rule that names a kind is about its parts too (RequestWords::is_act has the exceptions). RBAC
// names each part: the same in its words.
struct Listed {
  std::vector<std::string> verbs, resources;
};
// `verbs` without negations and words for streams; `resources` by their plural names, `pods/log`,
// or `*`. nullopt: the parts of one of them are not known.
std::optional<std::vector<Listed>> with_parts(const std::vector<std::string>& verbs,
                                              const std::vector<std::string>& resources,
                                              const KindNames* kinds);

}  // namespace cardea::authz::namespace_policy

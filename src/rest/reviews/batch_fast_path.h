#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "authz/attributes.h"

namespace cardea::rest {

// A fast path for BatchSubjectAccessReviews as programs write them: read directly from the JSON
// text, without building a tree.
//
// Plain means: known fields only, each once; texts of ASCII without escapes; one user for all
// items, without extra; no selectors; between one and `most` items. A body that is not plain is
// not an error: it is read in the ordinary way. Both ways give the same meaning.
class FastBatch {
 public:
  static std::optional<FastBatch> read(std::string_view text, std::size_t most);

  const authz::User& user() const { return user_; }
  std::size_t size() const { return items_.size(); }
  // Borrows from the text and from this.
  authz::Attributes attributes(std::size_t index) const;

 private:
  class Reader;
  struct Item {
    bool is_resource = false;
    std::string_view texts[7];  // of resourceAttributes in the order of the reader's table; path
                                // and verb otherwise
  };
  authz::User user_;
  std::vector<Item> items_;
};

}  // namespace cardea::rest

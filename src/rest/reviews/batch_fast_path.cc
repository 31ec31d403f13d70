#include "rest/reviews/batch_fast_path.h"

#include <algorithm>
#include <span>

namespace cardea::rest {
namespace {

constexpr std::string_view kTop[] = {"kind", "apiVersion", "metadata", "spec", "status"};
constexpr std::string_view kSpec[] = {"user", "uid", "groups", "items"};
constexpr std::string_view kItem[] = {"resourceAttributes", "nonResourceAttributes"};
constexpr std::string_view kResource[] = {"namespace", "verb",        "group", "version",
                                          "resource",  "subresource", "name"};
constexpr std::string_view kPath[] = {"path", "verb"};

}  // namespace

// Every function says whether what it read was plain; after the first no nothing counts any more.
class FastBatch::Reader {
 public:
  Reader(std::string_view text, std::size_t most, FastBatch& out)
      : at_(text.data()), end_(at_ + text.size()), most_(most), out_(out) {}

  bool run() {
    bool has_spec = false;
    bool read = members(kTop, [&](std::size_t field) {
      std::string_view word;
      switch (field) {
        case 0:
          return text(word) && word == "BatchSubjectAccessReview";
        case 1:
          return text(word) && word == "access.cardea.dev/v1alpha1";
        case 3:
          return has_spec = true, spec();
        default:
          return take('{') && take('}');
      }
    });
    skip_space();
    return read && has_spec && at_ == end_ && !out_.items_.empty() &&
           (!out_.user_.name.empty() || !out_.user_.groups.empty());
  }

 private:
  void skip_space() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\t' || *at_ == '\r')) ++at_;
  }
  bool take(char c) {
    skip_space();
    if (at_ == end_ || *at_ != c) return false;
    ++at_;
    return true;
  }
  bool text(std::string_view& out) {
    if (!take('"')) return false;
    const char* begin = at_;
    while (at_ != end_ && *at_ != '"') {
      if (*at_ == '\\' || static_cast<signed char>(*at_) < 0x20)
        return false;  // escapes, controls, and beyond ASCII
      ++at_;
    }
    if (at_ == end_) return false;
    out = {begin, static_cast<std::size_t>(at_ - begin)};
    ++at_;
    return true;
  }

  // An object whose members are among `names`, each at most once; `read` takes the value of the one
  // with that index.
  template <typename Read>
  bool members(std::span<const std::string_view> names, Read read) {
    unsigned seen = 0;
    if (!take('{')) return false;
    if (take('}')) return true;
    do {
      std::string_view name;
      if (!text(name) || !take(':')) return false;
      auto field = static_cast<std::size_t>(std::ranges::find(names, name) - names.begin());
      if (field == names.size() || (seen & (1u << field)) || !read(field)) return false;
      seen |= 1u << field;
    } while (take(','));
    return take('}');
  }
  template <typename Read>
  bool elements(Read read) {
    if (!take('[')) return false;
    if (take(']')) return true;
    do
      if (!read()) return false;
    while (take(','));
    return take(']');
  }

  bool spec() {
    return members(kSpec, [&](std::size_t field) {
      std::string_view word;
      switch (field) {
        case 0:
          return text(word) && (out_.user_.name = word, true);
        case 1:
          return text(word) && (out_.user_.uid = word, true);
        case 2:
          return elements(
              [&] { return text(word) && (out_.user_.groups.emplace_back(word), true); });
        default:
          return elements([&] { return item(); });
      }
    });
  }
  bool item() {
    if (out_.items_.size() == most_) return false;
    Item& item = out_.items_.emplace_back();
    int blocks = 0;
    return members(kItem,
                   [&](std::size_t field) {
                     item.is_resource = field == 0;
                     return ++blocks == 1 &&
                            members(item.is_resource ? std::span<const std::string_view>(kResource)
                                                     : kPath,
                                    [&](std::size_t f) { return text(item.texts[f]); });
                   }) &&
           blocks == 1;
  }

  const char* at_;
  const char* end_;
  const std::size_t most_;
  FastBatch& out_;
};

std::optional<FastBatch> FastBatch::read(std::string_view text, std::size_t most) {
  FastBatch out;
  if (!Reader(text, most, out).run()) return std::nullopt;
  return out;
}

authz::Attributes FastBatch::attributes(std::size_t index) const {
  const Item& item = items_[index];
  authz::Attributes out(user_);
  out.is_resource_request = item.is_resource;
  if (!item.is_resource) {
    out.path = item.texts[0];
    out.verb = item.texts[1];
    return out;
  }
  out.namespace_name = item.texts[0];
  out.verb = item.texts[1];
  out.api_group = item.texts[2];
  out.api_version = item.texts[3].empty() ? "*" : item.texts[3];
  out.resource = item.texts[4];
  out.subresource = item.texts[5];
  out.name = item.texts[6];
  return out;
}

}  // namespace cardea::rest

#pragma once
#include <boost/container/static_vector.hpp>
#include <span>
#include <string>
#include <string_view>

#include "authz/attributes.h"

namespace cardea::authz {

// A denial names an effect: "delete pods". There are several ways to one effect: a pod is
// deleted by its own DELETE, by that of its collection, and by an eviction. This is the one
// table of them. A denial of an effect denies every way to it; a denial of a way (patch,
// deletecollection, pods/eviction) denies this way alone.
//
// Effects count for denials only. A permission for one way never allows another way to the same
// effect.

// One row: a request that matches the left-hand side also counts as the right-hand side. Empty
// words on the right mean "as on the left".
struct EffectRow {
  std::string_view verbs;        // separated by spaces; `*`: any; `x*`: those that begin with `x`
  std::string_view api_group;    // `*`: any
  std::string_view resource;     // `*`: any
  std::string_view subresource;  // empty: the object itself; `/`: either; `*`: any subresource that
                                 // is not a stream; else names, separated by spaces

  // A denial may name a stream of an object by one word: `exec` of `pods` is `pods/exec`.
  enum class Kind { kPlain, kWord };
  std::string_view to_verb, to_group, to_resource,
      to_subresource;  // the group `core` is the empty one; the subresource `-` is none
  // Whether a condition is about the object that the request changes indirectly, and not about
  // the body of the request.
  bool on_parent = false;
  Kind kind = Kind::kPlain;
};
std::span<const EffectRow> effect_rows();

// An additional effect of a request. Borrows what its attributes borrow.
struct IndirectEffect {
  Attributes attributes;
  bool on_parent = false;
  bool is_word = false;  // the verb is a word for a stream; it matches only rules that name that
                         // word
};
inline constexpr std::size_t kMostEffects = 12;
using IndirectEffects = boost::container::static_vector<IndirectEffect, kMostEffects>;

// All effects of a request, including the effects of effects; the request itself is not among
// them. A request for a path has the effect `get` of the path, for every method, with and
// without slashes at its end. Allocates nothing. Most requests have no effects, and return at
// once.
IndirectEffects effects_of(const Attributes& attributes);

// `the effect of this request is delete pods`, for the reason of a denial.
std::string as_text(const IndirectEffect& effect);

// Whether the field selector of a request without a name excludes this name.
bool selectors_exclude(const Attributes& attributes, std::string_view name);
// Whether a request without a name reaches every object of the collection. A create does not:
// its object has a name.
bool reaches_all(const Attributes& attributes);

// A hint for a request for all objects that a denial of names refuses: how to ask for the other
// objects.
inline constexpr std::string_view kAskByName =
    "some objects of this collection are denied by name; leave them out with "
    "fieldSelector=metadata.name!=NAME, or ask for one by its name";

}  // namespace cardea::authz

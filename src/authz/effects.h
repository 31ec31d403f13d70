#pragma once
#include <boost/container/static_vector.hpp>
#include <span>
#include <string>
#include <string_view>

#include "authz/attributes.h"

namespace cardea::authz {

// A denial names an effect: "delete pods". There are several ways to one effect: a pod is deleted
// by its own DELETE, by that of its collection, and by an eviction. This is the one table of them.
// What denies an effect denies every way to it; what denies a way (patch, deletecollection,
// pods/eviction) denies this way alone.
//
// Effects count for denials only. Nobody is allowed anything because they may do something else to
// the same effect.

// One row: who does the left-hand side does the right-hand side too. Empty words on the right mean
// "as on the left".
struct EffectRow {
  std::string_view verbs;        // separated by spaces; `*`: any; `x*`: those that begin with `x`
  std::string_view api_group;    // `*`: any
  std::string_view resource;     // `*`: any
  std::string_view subresource;  // empty: the object itself; `/`: either; `*`: any, but none of the
                                 // streams; else names, separated by spaces

  // Who only names a word means the streams of an object by it: `exec` of `pods` is `pods/exec`.
  enum class Kind { kPlain, kWord };
  std::string_view to_verb, to_group, to_resource,
      to_subresource;  // the group `core` is the empty one; the subresource `-` is none
  // Whether a condition is about the object that the request is a way to, and not about what the
  // request brings.
  bool on_parent = false;
  Kind kind = Kind::kPlain;
};
std::span<const EffectRow> effect_rows();

// What a request does beside what it says. Borrows what its attributes borrow.
struct IndirectEffect {
  Attributes attributes;
  bool on_parent = false;
  bool is_word = false;  // the verb is a word for a stream, which only who says that word means
};
inline constexpr std::size_t kMostEffects = 12;
using IndirectEffects = boost::container::static_vector<IndirectEffect, kMostEffects>;

// All of them, what an effect comes to in its turn included; the request itself is not among them.
// A request for a path comes to `get` of it, whatever its method, with and without slashes at its
// end. Allocates nothing. Most requests have none, and are told so at once.
IndirectEffects effects_of(const Attributes& attributes);

// `this comes to delete pods`, for the reason of a denial.
std::string as_text(const IndirectEffect& effect);

// Whether what a request without a name reaches excludes this name: its field selector says so.
bool selectors_exclude(const Attributes& attributes, std::string_view name);
// Whether a request without a name reaches every object there is, and is not about one that brings
// its name.
bool reaches_all(const Attributes& attributes);

// How to ask for what is left, once a denial of names met a request for everything.
inline constexpr std::string_view kAskByName =
    "some objects of this collection are denied by name; leave them out with "
    "fieldSelector=metadata.name!=NAME, or ask for one by its name";

}  // namespace cardea::authz

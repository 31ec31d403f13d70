#pragma once
#include <optional>
#include <string_view>

#include "cel/check/function.h"

// The cost of functions at run time: as cel-go 0.29 counts it, and by Kubernetes' own rules where
// it has them.
namespace cardea::cel {

std::uint64_t equality_cost(const Value& a, const Value& b);
std::uint64_t text_cost(const Value& text);          // of comparing a string with an equal one
std::uint64_t self_compare_cost(const Value& list);  // sort, distinct

// The rule of Kubernetes' estimator for a function, if it has one.
std::optional<CostRule> kubernetes_rule(std::string_view function, std::string_view overload_id);

namespace rule {
std::uint64_t first_tenth(const Value* a, std::size_t n, const Value& r);  // ceil(0.1 size of the
                                                                           // first)
std::uint64_t second_tenth(const Value* a, std::size_t n, const Value& r);
std::uint64_t second_size(const Value* a, std::size_t n, const Value& r);    // in list
std::uint64_t smaller_tenth(const Value* a, std::size_t n, const Value& r);  // comparisons
std::uint64_t sum_tenth(const Value* a, std::size_t n, const Value& r);      // concatenation
std::uint64_t matches(const Value* a, std::size_t n, const Value& r);
std::uint64_t contains(const Value* a, std::size_t n, const Value& r);
std::uint64_t made_text(const Value* a, std::size_t n, const Value& r);  // traverses, then makes
                                                                         // text
std::uint64_t search(const Value* a, std::size_t n, const Value& r);     // indexOf
std::uint64_t one_character(const Value* a, std::size_t n, const Value& r);
std::uint64_t replace(const Value* a, std::size_t n, const Value& r);
std::uint64_t split(const Value* a, std::size_t n, const Value& r);
std::uint64_t join(const Value* a, std::size_t n, const Value& r);
std::uint64_t made_list(const Value* a, std::size_t n, const Value& r);
std::uint64_t flatten(const Value* a, std::size_t n, const Value& r);
std::uint64_t self_compare(const Value* a, std::size_t n, const Value& r);
std::uint64_t product(const Value* a, std::size_t n, const Value& r);  // sets
std::uint64_t product_twice(const Value* a, std::size_t n, const Value& r);
}  // namespace rule

}  // namespace cardea::cel

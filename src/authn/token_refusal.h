#pragma once
#include <array>
#include <string>
#include <string_view>

namespace cardea::authn {

// Why bearer tokens are refused, by the words that /metrics counts them under.
inline constexpr std::array<std::string_view, 16> kTokenRefusals = {
    "audience",       "claims",        "critical_header", "distributed_claims",
    "duplicate_name", "encoding",      "expired",         "issuer_unavailable",
    "key_id",         "key_in_header", "malformed",       "oversized",
    "signature",      "unknown",       "unknown_issuer",  "unsigned"};

// The place in kTokenRefusals of the reason that the text of a refusal gives. A text that is not
// known is "claims": the rules of a configuration have words of their own.
std::size_t refusal_reason(std::string_view text);

// The text without the values of claims, which only a rule's own message may show.
std::string without_claims(std::string text);

}  // namespace cardea::authn

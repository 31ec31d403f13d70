#include "authn/token_refusal.h"

#include <algorithm>

namespace cardea::authn {
namespace {

struct Row {
  std::string_view part;  // of the text
  std::string_view reason;
};
// The first that fits counts.
constexpr Row kRows[] = {
    {"distributed claim", "distributed_claims"},
    {"the token is too large", "oversized"},
    {"critical header", "critical_header"},
    {"has a member twice", "duplicate_name"},
    {"encoded in an unsupported way", "encoding"},
    {"the header contains a key", "key_in_header"},
    {"the key id is not a string", "key_id"},
    {"no signature algorithm", "unsigned"},
    {"the token is not signed", "unsigned"},
    {"it does not have three parts", "unknown"},
    {"no such token", "unknown"},
    {"malformed jwt", "malformed"},
    {"no configured issuer", "unknown_issuer"},
    {"different provider", "unknown_issuer"},
    {"not initialized", "issuer_unavailable"},
    {"fetching keys", "issuer_unavailable"},
    {"expected audience", "audience"},
    {"expired", "expired"},
    {"before the nbf", "expired"},
    {"signature", "signature"},
    {"unsupported algorithm", "signature"},
};

}  // namespace

std::size_t refusal_reason(std::string_view text) {
  std::string_view reason = "claims";
  for (const Row& row : kRows)
    if (text.find(row.part) != text.npos) {
      reason = row.reason;
      break;
    }
  return static_cast<std::size_t>(std::ranges::find(kTokenRefusals, reason) -
                                  kTokenRefusals.begin());
}

std::string without_claims(std::string text) {
  // What Kubernetes' words put before what a token says.
  constexpr std::string_view kBefore[] = {" got [",
                                          " got \"",
                                          ", got ",
                                          ". Got = ",
                                          ": Get \"",
                                          " endpoint \"",
                                          "untrusted issuer ",
                                          "resulted in error: "};
  for (const std::string_view before : kBefore)
    if (const std::size_t at = text.find(before); at != text.npos) text.resize(at);
  return text;
}

}  // namespace cardea::authn

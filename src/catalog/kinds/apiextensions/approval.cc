#include "catalog/kinds/apiextensions/approval.h"

#include "base/strings.h"
#include "schema/custom/formats.h"

namespace cardea::catalog {

bool is_protected_group(std::string_view group) {
  for (std::string_view domain : {"k8s.io", "kubernetes.io"})
    if (group == domain || group.ends_with(cat(".", domain))) return true;
  return false;
}

Approval approval_of(const json::Value& annotations) {
  std::string_view text = annotations[kApprovalAnnotation].as_string();
  std::string must = cat("protected groups must have approval annotation ",
                         quoted(kApprovalAnnotation));
  constexpr std::string_view kSee = ", see https://github.com/kubernetes/enhancements/pull/1111";
  if (text.empty()) return {Approval::kMissing, cat(must, kSee)};
  if (text.starts_with("unapproved")) return {Approval::kBypassed, "not approved: " + quoted(text)};
  auto authority = text.find("://");
  bool has_host = authority != text.npos && authority > 0 && authority + 3 < text.size() &&
                  text[authority + 3] != '/';
  if (has_host && schema::find_format("uri")->accepts(text))
    return {Approval::kApproved, cat("approved in ", text)};
  return {Approval::kInvalid,
          cat(must, " with either a URL or a reason starting with \"unapproved\"", kSee)};
}

}  // namespace cardea::catalog

#include "app/impersonation_plan.h"

#include "app/text_table.h"
#include "base/strings.h"
#include "json/print.h"

namespace cardea::app {

using json::Value;

namespace {

// "impersonate:user-info users.authentication.k8s.io/jane in the namespace shop"
std::string asked_text(const Value& question) {
  if (question.has("nonResourceAttributes")) {
    const Value& a = question["nonResourceAttributes"];
    return cat(a["verb"].as_string(), " ", a["path"].as_string());
  }
  const Value& a = question["resourceAttributes"];
  auto with = [&a](std::string_view before, std::string_view member) {
    std::string_view text = a[member].as_string();
    return text.empty() ? "" : cat(before, text);
  };
  return cat(a["verb"].as_string(), " ", a["resource"].as_string(), with(".", "group"),
             with("/", "subresource"), with(" ", "name"), with(" in the namespace ", "namespace"));
}

std::string question_text(const Value& question) {
  std::string out = cat("    ",
                        question["allowed"].as_bool()  ? "yes     "
                        : question["denied"].as_bool() ? "denied  "
                                                       : "no      ",
                        asked_text(question));
  for (std::string_view member : {"reason", "evaluationError"})
    if (std::string_view text = question[member].as_string(); !text.empty()) out += cat(": ", text);
  return harmless(out);
}

std::string grant_text(const Value& grant) {
  std::string_view space = grant["namespace"].as_string();
  return harmless(cat("    missing ", space.empty() ? "in a ClusterRole" : "in a Role of ", space,
                      ": ", json::print(grant["rule"])));
}

}  // namespace

std::string impersonation_text(const Value& status) {
  std::string out = status["allowed"].as_bool()
                        ? cat("yes, in the mode ", status["mode"].as_string(), "\n")
                        : "no\n";
  for (const Value& mode : status["modes"].items()) {
    std::string_view why = mode["reason"].as_string();
    out += cat("  ", mode["mode"].as_string(), ": ", mode["allowed"].as_bool() ? "yes" : "no",
               why.empty() ? "" : ": ", harmless(why), "\n");
    for (const Value& question : mode["questions"].items()) out += question_text(question) + "\n";
    for (const Value& grant : mode["missingGrants"].items()) out += grant_text(grant) + "\n";
  }
  return out;
}

}  // namespace cardea::app

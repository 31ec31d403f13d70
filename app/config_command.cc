#include "app/config_command.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "admission/admission_config.h"
#include "app/authorizer_chain.h"
#include "app/command_line.h"
#include "app/known_resources.h"
#include "app/text_table.h"
#include "audit/policy.h"
#include "authn/jwt/authentication_config.h"
#include "authn/jwt/authentication_validation.h"
#include "base/strings.h"
#include "json/yaml.h"
#include "json/yaml_lines.h"
#include "rest/at_rest/encryption.h"
#include "upstream/egress.h"
#include "upstream/trace_exporter.h"

namespace cardea::app {
namespace {

constexpr std::size_t kMostBytes = 16u << 20;

// What is wrong with one file. Errors about one field know its path.
struct Problem {
  std::string path;  // "jwt[0].issuer.url"; may be empty
  std::string text;
};
using Problems = std::vector<Problem>;

Problems problems_of(const json::FieldErrors& errors) {
  Problems out;
  for (const json::FieldError& e : errors) out.push_back({e.field, e.message()});
  return out;
}

Problems problem_of(const Error& error) {
  return {{"", error.message}};
}

Problems check_authentication(const std::string&, const std::string& text) {
  auto config = authn::load_authentication_config(text);
  if (!config) return problem_of(config.error());
  return problems_of(authn::validate(*config, {}));
}

Problems check_authorization(const std::string&, const std::string& text) {
  auto config = authz::parse_authorization_config(text);
  if (!config) return problem_of(config.error());
  return problems_of(authz::validate(*config, known_authorizer_types(true)));
}

Problems check_audit(const std::string&, const std::string& text) {
  auto document = audit::parse_policy(text);
  if (!document) return problem_of(document.error());
  if (document->rules.empty()) return {{"rules", "rules: a policy without rules is refused"}};
  return problems_of(audit::validate(*document));
}

Problems check_admission(const std::string& file, const std::string& text) {
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  admission::Settings settings;
  auto beside = [&](const std::string& path) { return read_input((folder / path).string()); };
  auto read = admission::read_admission_config(text, beside, settings);
  return read ? Problems{} : problem_of(read.error());
}

Problems check_egress(const std::string&, const std::string& text) {
  auto egress = upstream::parse_egress(text, read_input);
  return egress ? Problems{} : problem_of(egress.error());
}

Problems check_tracing(const std::string&, const std::string& text) {
  auto config = upstream::parse_tracing_config(text);
  return config ? Problems{} : problem_of(config.error());
}

Problems check_encryption(const std::string&, const std::string& text) {
  auto read = rest::Encryption::read(text);
  return read ? Problems{} : problem_of(read.error());
}

struct Kind {
  std::string_view group, kind;
  Problems (*check)(const std::string& file, const std::string& text);
};

constexpr Kind kKinds[] = {
    {"apiserver.config.k8s.io", "AuthenticationConfiguration", check_authentication},
    {"apiserver.config.k8s.io", "AuthorizationConfiguration", check_authorization},
    {"apiserver.config.k8s.io", "AdmissionConfiguration", check_admission},
    {"apiserver.config.k8s.io", "EncryptionConfiguration", check_encryption},
    {"apiserver.k8s.io", "EgressSelectorConfiguration", check_egress},
    {"apiserver.k8s.io", "TracingConfiguration", check_tracing},
    {"audit.k8s.io", "Policy", check_audit},
};

Problems check(const std::string& file, const std::string& text) {
  auto document = json::parse_configuration(text, kMostBytes, json::FlowStyle::kAllowed);
  if (!document) return problem_of(document.error());
  std::string_view version = document->value["apiVersion"].as_string();
  std::string_view group = version.substr(0, version.find('/'));
  std::string_view kind = document->value["kind"].as_string();
  for (const Kind& known : kKinds)
    if (known.group == group && known.kind == kind) return known.check(file, text);
  std::vector<std::string> names;
  for (const Kind& known : kKinds) names.emplace_back(known.kind);
  return {{"kind", cat("`", kind, "` of `", version,
                       "` is not a configuration of the server: ", join(names, ", "))}};
}

// "authn.yaml:7: jwt[0].issuer.url: Required value", in the order of the lines.
void print(const std::string& file, const std::string& text, const Problems& problems) {
  std::vector<std::pair<std::size_t, std::string>> lines;
  for (const Problem& p : problems) lines.emplace_back(json::yaml_line_of(text, p.path), p.text);
  std::ranges::stable_sort(lines, {}, &std::pair<std::size_t, std::string>::first);
  for (const auto& [line, what] : lines)
    std::puts(cat(file, line == 0 ? "" : cat(":", line), ": ", harmless(what)).c_str());
}

}  // namespace

int config_validate_command(int argc, char** argv) {
  std::vector<std::string> files;
  CommandLine line(
      {"config validate",
       "Checks configuration files as the server would when it starts: authentication, "
       "authorization, admission, and the audit policy. Prints every error with its line. Exits "
       "with 0 when all files are valid, 1 when one is not, and 2 when one cannot be read.",
       {"config validate FILE..."},
       {"cardea config validate authn.yaml authz.yaml audit.yaml"}});
  line.words("FILE", files, "the files; `-` is standard input");
  if (auto status = line.read(argc, argv)) return *status;
  if (files.empty()) return line.misuse("a file is wanted");
  bool all_valid = true;
  for (const std::string& file : files) {
    auto text = read_input(file);
    if (!text) return line.failed(text.error().message);
    Problems problems = check(file, *text);
    print(file, *text, problems);
    all_valid = all_valid && problems.empty();
  }
  return all_valid ? 0 : 1;
}

}  // namespace cardea::app

// conformance [DIR]: runs every data-driven conformance test with the files in DIR; without DIR,
// with the files of this repository and of the folder of public cases beside it.
//
// Differences are printed when they are found. The last line is `N passed, M failed, K skipped`. A
// file that no test reads yet counts as one skipped check. tests/e2e/replay.py replays recorded
// conversations against a server that it starts from $CARDEA_BINARY; waiting.json beside it lists
// the conversations that need later work.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "conformance/conformance.h"

namespace cardea::conformance {
namespace {

namespace fs = std::filesystem;

std::string quoted(const std::string& text) {
  std::string out = "'";
  for (char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// Runs the replay and prints its lines. A replay without a summary is one failure.
Counts run_conversations(const std::string& folder) {
  if (!std::getenv("CARDEA_BINARY")) {
    std::printf("http: skipped, since CARDEA_BINARY does not name a server to start\n");
    return {.skipped = 1};
  }
  std::fflush(stdout);
  const std::string command = "/usr/bin/python3 -B " +
                              quoted(CARDEA_SOURCE_DIR "/tests/e2e/replay.py") +
                              " --folder=" + quoted(folder) + " 2>&1";
  FILE* output = popen(command.c_str(), "r");
  if (!output) return {.failed = 1};
  std::string line;
  std::optional<Counts> summary;
  auto end_line = [&] {
    std::printf("%s\n", line.c_str());
    if (Counts c; std::sscanf(line.c_str(), "%d passed, %d failed, %d skipped", &c.passed,
                              &c.failed, &c.skipped) == 3)
      summary = c;
    line.clear();
  };
  for (int c; (c = std::fgetc(output)) != EOF;) {
    if (c == '\n')
      end_line();
    else
      line += static_cast<char>(c);
  }
  if (!line.empty()) end_line();
  pclose(output);
  if (summary) return *summary;
  std::printf("http: the replay did not come to its end\n");
  return {.failed = 1};
}

// The test that reads a file or folder of DIR, by its name; null if there is none yet.
using Runner = Counts (*)(const std::string& path);
struct Part {
  const char* name;
  Runner run;
};
constexpr std::array kParts{
    Part{"requestinfo.json", run_requestinfo},
    Part{"authn-config-validation.json", run_authn_config},
    Part{"oidc-claims.json", run_oidc_claims},
    Part{"rbac.json", run_rbac},
    Part{"bootstrap-policy.json", run_bootstrap_policy},
    Part{"node-authorizer.json", run_node_authorizer},
    Part{"authz-config-validation.json", run_authz_config},
    Part{"policy-authorizer.json", run_policy_authorizer},
    Part{"sar.json", run_sar},
    Part{"conditional-authz.json", run_conditional},
    Part{"impersonation.json", run_impersonation},
    Part{"smd-compare.json", run_smd_compare},
    Part{"granular-design-vectors.json", run_granular},
    Part{"cel-conformance", run_cel},
    Part{"cel-random", run_cel},
    Part{"k8s-cel-libs", run_cel},
    Part{"cel-partial.jsonl", run_cel},
    Part{"cel-partial-unknowns.jsonl", run_cel},
    Part{"cel-attribute-patterns.jsonl", run_cel},
    Part{"cel-unparse.jsonl", run_cel},
    Part{"protobuf", run_protobuf},
    Part{"http",
         [](const std::string& path) {
           Counts counts = run_ownership(path);
           counts += run_conversations(path);
           return counts;
         }},
};

Counts run_part(const fs::path& path) {
  const std::string name = path.filename().string();
  auto part = std::ranges::find_if(kParts, [&](const Part& p) { return name == p.name; });
  if (part == kParts.end()) {
    std::printf("%s: skipped, no test reads it yet\n", name.c_str());
    return {.skipped = 1};
  }
  Counts counts = part->run(path.string());
  std::printf("%s: %d passed, %d failed, %d skipped\n", name.c_str(), counts.passed, counts.failed,
              counts.skipped);
  return counts;
}

bool holds_cases(const fs::directory_entry& entry) {
  return entry.is_directory() || entry.path().extension() == ".json" ||
         entry.path().extension() == ".jsonl";
}

// A file that is in both folders is taken from the first.
int run_folders(const std::vector<std::string>& folders) {
  std::map<std::string, fs::path> paths;
  for (const std::string& folder : folders)
    for (const auto& entry : fs::directory_iterator(folder))
      if (holds_cases(entry)) paths.try_emplace(entry.path().filename().string(), entry.path());
  Counts counts;
  for (const auto& [name, path] : paths) counts += run_part(path);
  std::printf("%d passed, %d failed, %d skipped\n", counts.passed, counts.failed, counts.skipped);
  return counts.failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace cardea::conformance

int main(int argc, char** argv) {
  using namespace cardea::conformance;
  if (argc > 2 || (argc == 2 && !std::filesystem::is_directory(argv[1]))) {
    std::fprintf(stderr, "usage: conformance [DIR], a folder of conformance cases\n");
    return 2;
  }
  if (argc == 2) return run_folders({argv[1]});
  if (!folder().empty()) return run_folders({own_folder(), folder()});
  std::printf("no folder of public cases beside the repository: only its own are run\n");
  return run_folders({own_folder()});
}

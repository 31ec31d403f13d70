#include "app/explain_command.h"

#include <cstdio>

#include "app/asked_user.h"
#include "app/command_line.h"
#include "app/impersonation_plan.h"
#include "app/known_resources.h"
#include "app/output.h"
#include "app/question.h"
#include "app/terms.h"
#include "app/text_table.h"
#include "base/strings.h"
#include "json/yaml.h"

namespace cardea::app {

using json::Value;

namespace {

constexpr std::size_t kMostBytes = 16u << 20;

struct Options {
  Question question;
  ServerChoice server;
  std::string output = "table", object_file, old_file;
  bool impersonation = false;
  std::string sender;  // who would impersonate; empty: the caller
  std::vector<std::string> sender_groups;
};

About about() {
  return {"explain",
          "Explains a decision: the answer of each authorizer in the order in which they are "
          "asked, the conditions, and the rules that come close. With --as it is about another "
          "user; the caller needs the permission to create accessexplanationreviews, and none to "
          "impersonate. With --filename conditions are settled for that object. With "
          "--impersonation the command tells instead what --sender (default: you) needs to make "
          "the request in the name of --as: every permission of every mode, and the smallest rules "
          "that are missing. Exits with 0 for yes, 1 for no, 3 for `yes, if`, and 2 when the "
          "server cannot be asked.",
          {"explain VERB RESOURCE[.VERSION[.GROUP]][/SUBRESOURCE] [NAME] [flags]",
           "explain VERB /PATH [flags]"},
          {"cardea explain delete pods -n shop --as jane --as-group dev",
           "cardea explain create persistentvolumes --as alice -f volume.yaml",
           "cardea explain list pods --as jane --impersonation --sender carol"}};
}

Result<void> add_object(Value& spec, const char* member, const std::string& file) {
  if (file.empty()) return {};
  auto text = read_input(file);
  if (!text) return fail(text.error());
  auto document = json::parse_yaml(*text, kMostBytes);
  if (!document) return fail(bad_request(cat("`", file, "`: ", document.error().message)));
  spec.set(member, std::move(document->value));
  return {};
}

std::string_view words_for(std::string_view answer) {
  if (answer == "Allow") return "yes";
  if (answer == "Deny") return "no, denied";
  if (answer == "Conditional") return "yes, if";
  if (answer == "NotAsked") return "not asked";
  return "no opinion";
}

void print_authorizer(const Value& a) {
  std::string_view name = a["name"].as_string(), type = a["type"].as_string();
  std::string line = cat("  ", name, name == type ? "" : cat(" (", type, ")"), ": ",
                         words_for(a["answer"].as_string()));
  for (std::string_view member : {"reason", "evaluationError"})
    if (std::string_view text = a[member].as_string(); !text.empty())
      line += cat(": ", harmless(text));
  std::puts(line.c_str());
  std::fputs(conditions_text(a["conditions"], "", "    ").c_str(), stdout);
  if (!a.has("settled")) return;
  std::string_view why = a["settledReason"].as_string();
  std::puts(cat("    for this object: ", words_for(a["settled"].as_string()),
                why.empty() ? "" : ": ", harmless(why))
                .c_str());
}

void print(const Value& status) {
  std::string_view answer = status["answer"].as_string();
  std::puts(answer == "Allow" ? "yes" : answer == "Conditional" ? "yes, if" : "no");
  for (const Value& a : status["authorizers"].items()) print_authorizer(a);
  if (!status["hints"].empty()) std::puts("  close:");
  for (const Value& hint : status["hints"].items())
    std::puts(cat("    ", harmless(hint["text"].as_string())).c_str());
  if (std::string_view error = status["evaluationError"].as_string(); !error.empty())
    std::fprintf(stderr, "warning: %s\n", harmless(error).c_str());
}

// A rule can allow it under conditions; an authorizer before it may deny it all the same.
int exit_status(const Value& status) {
  std::string_view answer = status["answer"].as_string();
  return answer == "Allow" ? 0 : answer == "Conditional" ? 3 : 1;
}

Result<Value> ask(KubeClient& server, const Options& o) {
  auto asked = attributes_of(server, o.question);
  if (!asked) return fail(asked.error());
  auto spec = asked_user(server, o.server);
  if (!spec) return fail(spec.error());
  spec->set(asked->member, std::move(asked->value));
  if (auto ok = add_object(*spec, "object", o.object_file); !ok) return fail(ok.error());
  if (auto ok = add_object(*spec, "oldObject", o.old_file); !ok) return fail(ok.error());
  auto answer = server.review("access.cardea.dev/v1alpha1", "AccessExplanationReview",
                              std::move(*spec));
  if (!answer) return fail(answer.error());
  return (*answer)["status"];
}

Result<Value> ask_about_impersonation(KubeClient& server, const Options& o) {
  auto asked = attributes_of(server, o.question);
  if (!asked) return fail(asked.error());
  ServerChoice sender;
  sender.user = o.sender;
  sender.groups = o.sender_groups;
  auto spec = asked_user(server, sender);
  if (!spec) return fail(spec.error());
  spec->set(asked->member, std::move(asked->value));
  spec->set("impersonate", named_user(o.server));
  auto answer = server.review("access.cardea.dev/v1alpha1", "ImpersonationReview",
                              std::move(*spec));
  if (!answer) return fail(answer.error());
  return (*answer)["status"];
}

int explain_impersonation(KubeClient& server, const Options& o, const CommandLine& line) {
  auto status = ask_about_impersonation(server, o);
  if (!status) return line.failed(status.error().message);
  if (!print_document(o.output, *status)) std::fputs(impersonation_text(*status).c_str(), stdout);
  return (*status)["allowed"].as_bool() ? 0 : 1;
}

std::string problem(const Options& o) {
  if (std::string wrong = problem_of(o.question); !wrong.empty()) return wrong;
  if (std::string wrong = problem_of(o.server); !wrong.empty()) return wrong;
  if (o.impersonation && o.server.user.empty()) return "`--impersonation` needs `--as`";
  if (!o.impersonation && !o.sender.empty()) return "`--sender` needs `--impersonation`";
  if (o.sender.empty() && !o.sender_groups.empty()) return "`--sender-group` needs `--sender`";
  return "";
}

}  // namespace

int explain_command(int argc, char** argv) {
  Options o;
  CommandLine line(about());
  declare_question(line, o.question);
  line.value("-f,--filename", o.object_file, "FILE",
             "the object, in YAML or JSON; `-` is standard input");
  line.value("--old", o.old_file, "FILE", "the object before an update, or the one to delete");
  declare_output(line, o.output);
  declare_user(line, o.server);
  line.flag("--impersonation", o.impersonation, "explains who may act as that user");
  line.value("--sender", o.sender, "USER", "who would act as that user (default: you)");
  line.values("--sender-group", o.sender_groups, "GROUP", "a group of --sender; may be repeated");
  declare_server(line, o.server);
  if (auto status = line.read(argc, argv)) return *status;
  if (std::string wrong = problem(o); !wrong.empty()) return line.misuse(wrong);
  auto server = KubeClient::make(without_user(o.server));
  if (!server) return line.failed(server.error().message);
  if (o.impersonation) return explain_impersonation(**server, o, line);
  auto status = ask(**server, o);
  if (!status) return line.failed(status.error().message);
  if (!print_document(o.output, *status)) print(*status);
  return exit_status(*status);
}

}  // namespace cardea::app

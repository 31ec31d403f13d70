#include "app/who_can_command.h"

#include <cstdio>

#include "app/command_line.h"
#include "app/output.h"
#include "app/question.h"
#include "app/text_table.h"
#include "base/strings.h"

namespace cardea::app {

using json::Value;

namespace {

// "RoleBinding shop/jane"
std::string named(const Value& reference) {
  std::string_view space = reference["namespace"].as_string();
  return cat(reference["kind"].as_string(), " ", space, space.empty() ? "" : "/",
             reference["name"].as_string());
}

std::string way(const Value& via) {
  std::string out = via.has("binding") ? named(via["binding"]) : "";
  if (via.has("role")) out += cat(out.empty() ? "" : ", ", named(via["role"]));
  return out;
}

std::string texts_of(const Value& conditions) {
  std::vector<std::string> out;
  for (const Value& c : conditions.items())
    out.emplace_back(c.is_string() ? c.as_string() : c["condition"].as_string());
  return join(out, "; ");
}

void print(const Value& status) {
  TextTable table({"KIND", "NAME", "THROUGH", "IF"});
  for (const Value& subject : status["subjects"].items()) {
    std::string name(subject["name"].as_string());
    if (std::string_view space = subject["namespace"].as_string(); !space.empty())
      name = cat(space, "/", name);
    std::vector<std::string> ways;
    for (const Value& via : subject["via"].items()) ways.push_back(way(via));
    if (ways.empty()) ways.emplace_back();
    bool first = true;
    for (const std::string& one : ways) {
      table.add({first ? std::string(subject["kind"].as_string()) : "", first ? name : "", one,
                 first ? texts_of(subject["conditions"]) : ""});
      first = false;
    }
  }
  if (table.is_empty())
    std::puts("nobody");
  else
    std::fputs(table.text().c_str(), stdout);
  if (status["incomplete"].as_bool())
    std::fprintf(stderr, "warning: the list may not be complete: %s\n",
                 harmless(status["evaluationError"].as_string()).c_str());
}

}  // namespace

int who_can_command(int argc, char** argv) {
  ServerChoice choice;
  Question question;
  std::string output = "table";
  CommandLine line({"who-can",
                    "Lists the users, groups and service accounts that may do something, the "
                    "bindings and roles through which they may, and the conditions. Groups stand "
                    "for their members. Exits with 0, with 1 when nobody may, and with 2 when the "
                    "server cannot be asked.",
                    {"who-can VERB RESOURCE[.VERSION[.GROUP]][/SUBRESOURCE] [NAME] [flags]",
                     "who-can VERB /PATH [flags]"},
                    {"cardea who-can delete pods -n shop", "cardea who-can create pods/exec",
                     "cardea who-can get secrets database -o yaml"}});
  declare_question(line, question);
  declare_output(line, output);
  declare_user(line, choice);
  declare_server(line, choice);
  if (auto status = line.read(argc, argv)) return *status;
  if (std::string wrong = problem_of(question); !wrong.empty()) return line.misuse(wrong);
  if (std::string wrong = problem_of(choice); !wrong.empty()) return line.misuse(wrong);
  auto server = KubeClient::make(choice);
  if (!server) return line.failed(server.error().message);
  auto asked = attributes_of(**server, question);
  if (!asked) return line.failed(asked.error().message);
  auto answer = (*server)->review("access.cardea.dev/v1alpha1", "ResourceAccessReview",
                                  Value::object({{asked->member, std::move(asked->value)}}));
  if (!answer) return line.failed(answer.error().message);
  const Value& status = (*answer)["status"];
  if (!print_document(output, status)) print(status);
  return status["subjects"].empty() ? 1 : 0;
}

}  // namespace cardea::app

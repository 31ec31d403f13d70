#include "app/whoami_command.h"

#include <cstdio>

#include "app/command_line.h"
#include "app/kube_client.h"
#include "app/output.h"
#include "app/text_table.h"
#include "base/strings.h"

namespace cardea::app {

using json::Value;

namespace {

std::string listed(const Value& values) {
  std::vector<std::string> out;
  for (const Value& v : values.items()) out.emplace_back(v.as_string());
  return join(out, ", ");
}

void print(const Value& user) {
  TextTable table({"ATTRIBUTE", "VALUE"});
  table.add({"Username", std::string(user["username"].as_string())});
  if (!user["uid"].as_string().empty()) table.add({"UID", std::string(user["uid"].as_string())});
  if (!user["groups"].empty()) table.add({"Groups", listed(user["groups"])});
  for (const json::Member& m : user["extra"].members())
    table.add({cat("Extra: ", m.key()), listed(m.value)});
  std::fputs(table.text().c_str(), stdout);
}

}  // namespace

int whoami_command(int argc, char** argv) {
  ServerChoice choice;
  std::string output = "table";
  CommandLine line({"whoami",
                    "Prints the user that the server takes you for: name, uid, groups, and what "
                    "else it knows. Exits with 0, and with 2 when the server cannot be asked.",
                    {},
                    {"cardea whoami", "cardea whoami --as jane --as-group dev"}});
  declare_output(line, output);
  declare_user(line, choice);
  declare_server(line, choice);
  if (auto status = line.read(argc, argv)) return *status;
  if (std::string wrong = problem_of(choice); !wrong.empty()) return line.misuse(wrong);
  auto server = KubeClient::make(choice);
  if (!server) return line.failed(server.error().message);
  auto answer = (*server)->review("authentication.k8s.io/v1", "SelfSubjectReview",
                                  Value::object({}));
  if (!answer) return line.failed(answer.error().message);
  const Value& user = (*answer)["status"]["userInfo"];
  if (!print_document(output, user)) print(user);
  return 0;
}

}  // namespace cardea::app

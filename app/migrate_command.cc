#include "app/migrate_command.h"

#include <cstdio>

#include "app/command_line.h"
#include "app/jwt_authentication.h"
#include "base/strings.h"
#include "json/yaml.h"

namespace cardea::app {

int migrate_oidc_flags_command(int argc, char** argv) {
  CommandLine line(
      {"migrate oidc-flags",
       "Prints the file for --authentication-config that means what the --oidc-* flags "
       "of a kube-apiserver mean. The command passes over other flags.",
       {"migrate oidc-flags FLAGS..."}});
  std::vector<std::string> arguments, others;
  line.keeps_the_rest(arguments);
  if (auto status = line.read(argc, argv)) return *status;
  auto flags = authn::parse_oidc_flags(arguments, others);
  if (!flags) return line.misuse(flags.error().message);
  if (flags->given.empty()) return line.misuse("no --oidc-* flag is given");
  AuthenticationOptions options;
  options.oidc = *flags;
  auto source = read_jwt_source(options);
  if (!source) return line.misuse(source.error().message);
  if (auto errors = authn::validate(source->config, {}); !errors.empty())
    return line.misuse(authn::message_of(errors));
  if (source->algorithms.names() != authn::AlgorithmSet::all().names())
    std::fprintf(stderr,
                 "cardea migrate: note: with a file every algorithm is accepted, not only %s\n",
                 join(source->algorithms.names(), ", ").c_str());
  std::fputs(json::print_yaml(authn::document_of(source->config)).c_str(), stdout);
  return 0;
}

}  // namespace cardea::app

#include "app/output.h"

#include <cstdio>

#include "app/command_line.h"
#include "base/strings.h"
#include "json/print.h"
#include "json/yaml.h"

namespace cardea::app {

void declare_output(CommandLine& line, std::string& form) {
  line.choice("-o,--output", form, {"json", "yaml", "table"},
              cat("the form of the answer (default: ", form, ")"));
}

bool print_document(const std::string& form, const json::Value& document) {
  if (form == "table") return false;
  std::fputs(form == "json" ? cat(json::print(document), "\n").c_str()
                            : json::print_yaml(document).c_str(),
             stdout);
  return true;
}

}  // namespace cardea::app

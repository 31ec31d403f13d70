#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace cardea::app {

// What the help of a command says before its flags.
struct About {
  std::string name;                // "cel eval"
  std::string what;                // what the command does, in sentences
  std::vector<std::string> usage;  // what may follow "cardea"; by default the name and [flags]
  std::vector<std::string> examples = {};  // whole lines, "cardea can-i get pods"
};

// The command line of one command: declare its words and flags, then read. All commands are read
// alike: `--flag value` and `--flag=value`, `--flag=` for an empty value, `--help`, and one line on
// standard error about what is wrong. What is declared outlives this.
//
// A shell asks what may come next with the hidden first argument `--complete`, the word before, and
// the beginning of the word (app/completion.h).
class CommandLine {
 public:
  explicit CommandLine(About about);
  ~CommandLine();

  // `names` are like "-n,--namespace"; `what` names the value in the help. Where a flag with one
  // value is repeated, its last value counts.
  void value(const std::string& names, std::string& to, const std::string& what,
             const std::string& help);
  void number(const std::string& names, std::uint64_t& to, const std::string& what,
              const std::string& help);
  void values(const std::string& names, std::vector<std::string>& to, const std::string& what,
              const std::string& help);
  void flag(const std::string& names, bool& to, const std::string& help);
  // A value that must be one of `allowed`.
  void choice(const std::string& names, std::string& to, std::vector<std::string> allowed,
              const std::string& help);
  // The heading under which the help lists what is declared from here on.
  void begin_group(std::string name) { group_ = std::move(name); }
  // Words stand by themselves, in the order in which they are declared.
  void word(const std::string& name, std::string& to, const std::string& help);
  void words(const std::string& name, std::vector<std::string>& to, const std::string& help);

  // `name` is a flag, declared on the parser, whose value is true or false: it may stand alone for
  // true.
  void takes_switch(std::string_view name) { switches_.emplace(name); }
  // An argument that begins with one dash but is not a flag counts as a word.
  void takes_dashed_words() { dashed_words_ = true; }
  // From the first word or flag that is not declared, the rest of the line is kept as it is, and
  // nothing of it is refused.
  void keeps_the_rest(std::vector<std::string>& to) { rest_ = &to; }

  // For commands that declare flags of other kinds.
  CLI::App& parser() { return *parser_; }

  // `argv[0]` is passed over. The exit status, when there is nothing to run: 0 after help was asked
  // for, 2 after a line about what makes no sense.
  std::optional<int> read(int argc, char** argv);
  // Says in one line why the command cannot be run as it was called; returns the exit status 2.
  int misuse(std::string_view why) const;
  // Says in one line why the command failed; returns the exit status 2.
  int failed(std::string_view why) const;

 private:
  std::vector<std::string> arguments(int argc, char** argv) const;
  bool takes_value(std::string_view flag) const;
  std::vector<std::string> flag_names() const;
  void print_completions(std::string_view before, std::string_view begun) const;

  About about_;
  std::string group_ = "Flags";
  std::map<std::string, std::vector<std::string>, std::less<>> choices_;  // by flag
  std::unique_ptr<CLI::App> parser_;
  std::set<std::string, std::less<>> switches_;
  bool dashed_words_ = false;
  std::vector<std::string>* rest_ = nullptr;
};

}  // namespace cardea::app

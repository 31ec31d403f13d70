#include "app/completion_command.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "app/command_line.h"
#include "app/commands.h"
#include "base/strings.h"

namespace cardea::app {
namespace {

constexpr char kBash[] = R"(_cardea() {
  local word=${COMP_WORDS[COMP_CWORD]} line
  COMPREPLY=()
  while IFS=$'\t' read -r line _; do COMPREPLY+=("$line"); done \
    < <("${COMP_WORDS[0]}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  [ ${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- "$word"))
}
complete -F _cardea cardea
)";

constexpr char kZsh[] = R"(#compdef cardea
_cardea() {
  local -a found
  local candidate meaning
  while IFS=$'\t' read -r candidate meaning; do
    found+=("${candidate//:/\\:}${meaning:+:$meaning}")
  done < <("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)
  if (( $#found )); then _describe cardea found; else _files; fi
}
if [ "$funcstack[1]" = "_cardea" ]; then _cardea "$@"; else compdef _cardea cardea; fi
)";

constexpr char kFish[] = R"(function __cardea_complete
  set -l words (commandline -opc) (commandline -ct)
  $words[1] __complete $words[2..-1] 2>/dev/null
end
complete -c cardea -f -a '(__cardea_complete)'
complete -c cardea -n 'string match -q -- "-*" (commandline -opc)[-1]' -F
)";

using Words = std::vector<std::string_view>;

bool begins_with(const Words& words, const Words& start) {
  return words.size() >= start.size() && std::equal(start.begin(), start.end(), words.begin());
}

// Commands whose names begin with the whole words `done`, and go on with `begun`.
void print_commands(const Words& done, std::string_view begun) {
  std::vector<std::string> seen;
  for (const Command& c : commands()) {
    Words words = split(c.name, ' ');
    if (words.size() == done.size() || !begins_with(words, done)) continue;
    std::string next(words[done.size()]);
    if (!next.starts_with(begun) || std::ranges::find(seen, next) != seen.end()) continue;
    seen.push_back(next);
    bool is_whole = words.size() == done.size() + 1;
    std::printf("%s%s%s\n", next.c_str(), is_whole ? "\t" : "",
                is_whole ? std::string(c.summary).c_str() : "");
  }
}

}  // namespace

int completion_command(int argc, char** argv) {
  std::string shell;
  CommandLine line(
      {"completion",
       "Prints a script that lets your shell complete commands and flags.",
       {"completion bash|zsh|fish"},
       {"source <(cardea completion bash)", "cardea completion zsh > \"${fpath[1]}/_cardea\"",
        "cardea completion fish > ~/.config/fish/completions/cardea.fish"}});
  line.word("SHELL", shell, "bash, zsh or fish");
  if (auto status = line.read(argc, argv)) return *status;
  const char* script = shell == "bash"   ? kBash
                       : shell == "zsh"  ? kZsh
                       : shell == "fish" ? kFish
                                         : nullptr;
  if (!script) return line.misuse("the shell is bash, zsh or fish");
  std::fputs(script, stdout);
  return 0;
}

int complete_words(int argc, char** argv) {
  Words words(argv + 1, argv + argc);
  if (words.empty()) words.emplace_back("");
  std::string begun(words.back());
  words.pop_back();
  for (const Command& c : commands()) {
    Words name = split(c.name, ' ');
    if (!begins_with(words, name)) continue;
    std::string own(name.back()), complete = "--complete", before(words.back());
    char* arguments[] = {own.data(), complete.data(), before.data(), begun.data()};
    return c.run(4, arguments);
  }
  print_commands(words, begun);
  return 0;
}

}  // namespace cardea::app

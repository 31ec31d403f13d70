#include "app/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "app/nearest.h"
#include "base/strings.h"

namespace cardea::app {
namespace {

constexpr std::size_t kColumn = 36;  // where descriptions begin
constexpr std::size_t kWidth = 100;

// Breaks lines between words. One that begins with a space stays as it is.
std::string wrapped(std::string_view text, std::size_t width) {
  std::string out;
  for (std::string_view line : split(text, '\n')) {
    if (!out.empty()) out += '\n';
    if (line.starts_with(' ')) {
      out += line;
      continue;
    }
    std::size_t used = 0;
    for (std::string_view word : split(line, ' ')) {
      if (used > 0 && used + 1 + word.size() > width) {
        out += '\n';
        used = 0;
      } else if (used > 0) {
        out += ' ';
        ++used;
      }
      out += word;
      used += word.size();
    }
  }
  return out;
}

class HelpFormatter : public CLI::Formatter {
 public:
  explicit HelpFormatter(const About& about) : about_(about) {
    column_width(kColumn);
    label("Positionals", "Words");
  }
  std::string make_description(const CLI::App*) const override {
    return wrapped(about_.what, kWidth) + "\n\n";
  }
  std::string make_usage(const CLI::App*, std::string) const override {
    if (about_.usage.empty()) return cat("Usage:\n  cardea ", about_.name, " [flags]\n");
    std::string out = "Usage:\n";
    for (const std::string& line : about_.usage) out += cat("  cardea ", line, "\n");
    return out;
  }
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    // One empty line between groups, none at the end.
    std::string text = CLI::Formatter::make_help(app, std::move(name), mode), out;
    for (char c : text)
      if (c != '\n' || !out.ends_with("\n\n")) out += c;
    while (out.ends_with("\n\n")) out.pop_back();
    if (!about_.examples.empty()) out += "\nExamples:\n";
    for (const std::string& line : about_.examples) out += cat("  ", line, "\n");
    return out;
  }
  std::string make_option_desc(const CLI::Option* option) const override {
    return wrapped(option->get_description(), kWidth - get_column_width());
  }

 private:
  const About about_;
};

// The converter's words would name a C++ type.
std::string about_conversion(std::string_view text) {
  constexpr std::string_view kStart = "Could not convert: ";
  if (!text.starts_with(kStart)) return std::string(text);
  text.remove_prefix(kStart.size());
  std::size_t equals = text.find(" = ");
  if (equals == text.npos) return std::string(text);
  return cat("`", text.substr(equals + 3), "` is not a value of ", text.substr(0, equals));
}

}  // namespace

CommandLine::CommandLine(About about)
    : about_(std::move(about)), parser_(std::make_unique<CLI::App>(about_.what)) {
  parser_->formatter(std::make_shared<HelpFormatter>(about_));
  parser_->set_help_flag("-h,--help", "prints this text")->group(group_);
}

CommandLine::~CommandLine() = default;

void CommandLine::value(const std::string& names, std::string& to, const std::string& what,
                        const std::string& help) {
  parser_->add_option(names, to, help)->type_name(what)->take_last()->group(group_);
}

void CommandLine::number(const std::string& names, std::uint64_t& to, const std::string& what,
                         const std::string& help) {
  parser_->add_option(names, to, help)->type_name(what)->take_last()->group(group_);
}

void CommandLine::values(const std::string& names, std::vector<std::string>& to,
                         const std::string& what, const std::string& help) {
  parser_->add_option(names, to, help)->allow_extra_args(false)->option_text(what)->group(group_);
}

void CommandLine::flag(const std::string& names, bool& to, const std::string& help) {
  parser_->add_flag(names, to, help)->group(group_);
}

void CommandLine::word(const std::string& name, std::string& to, const std::string& help) {
  parser_->add_option(name, to, help)->option_text(" ");
}

void CommandLine::words(const std::string& name, std::vector<std::string>& to,
                        const std::string& help) {
  parser_->add_option(name, to, help)->option_text("...");
}

void CommandLine::choice(const std::string& names, std::string& to,
                         std::vector<std::string> allowed, const std::string& help) {
  CLI::Option* option = parser_->add_option(names, to, help)->take_last()->group(group_);
  option->type_name(join(allowed, "|"));
  option->check([allowed](const std::string& value) {
    bool known = std::ranges::find(allowed, value) != allowed.end();
    return known ? "" : cat("`", value, "` is not one of ", join(allowed, ", "));
  });
  for (std::string_view name : split(names, ',')) choices_.emplace(name, allowed);
}

std::vector<std::string> CommandLine::flag_names() const {
  std::vector<std::string> out;
  for (const CLI::Option* option : parser_->get_options())
    for (const std::string& name : option->get_lnames()) out.push_back("--" + name);
  return out;
}

// One candidate in a line, and what it means behind a tab.
void CommandLine::print_completions(std::string_view before, std::string_view begun) const {
  if (auto known = choices_.find(before); known != choices_.end()) {
    for (const std::string& value : known->second)
      if (value.starts_with(begun)) std::puts(value.c_str());
    return;
  }
  if (before.starts_with('-') && takes_value(before)) return;  // a value that only its user knows
  for (const CLI::Option* option : parser_->get_options()) {
    if (option->get_group().empty()) continue;
    std::string_view help = option->get_description();
    help = help.substr(0, std::min(help.find('\n'), help.find(". ")));
    for (const std::string& name : option->get_lnames())
      if (cat("--", name).starts_with(begun))
        std::printf("--%s\t%s\n", name.c_str(), std::string(help).c_str());
  }
}

bool CommandLine::takes_value(std::string_view flag) const {
  const CLI::Option* option = parser_->get_option_no_throw(std::string(flag));
  return option && option->get_items_expected_min() > 0;
}

// Flags as people write them for kube-apiserver: `--flag=` is an empty value and a switch may stand
// alone, neither of which the parser takes. It takes the arguments in reverse.
std::vector<std::string> CommandLine::arguments(int argc, char** argv) const {
  std::vector<std::string> out, words;
  for (int i = 1; i < argc; ++i) {
    std::string_view arg = argv[i], next = i + 1 < argc ? argv[i + 1] : "";
    auto equals = arg.find('=');
    bool is_short = arg.size() > 1 && arg[0] == '-' && arg[1] != '-';
    if (arg == "--") {
      words.insert(words.end(), argv + i + 1, argv + argc);
      break;
    }
    if (equals != arg.npos && (is_short || equals == arg.size() - 1) &&
        takes_value(arg.substr(0, equals))) {
      out.emplace_back(arg.substr(0, equals));
      out.emplace_back(arg.substr(equals + 1));
    } else if (switches_.contains(arg)) {
      out.emplace_back(arg);
      if (next != "true" && next != "false") out.emplace_back("true");
    } else if (arg.starts_with('-') && takes_value(arg)) {
      out.emplace_back(arg);
      if (++i < argc) out.emplace_back(argv[i]);
    } else if (is_short && dashed_words_ && !parser_->get_option_no_throw(std::string(arg))) {
      words.emplace_back(arg);
    } else {
      out.emplace_back(arg);
    }
  }
  if (!words.empty()) out.emplace_back("--");
  out.insert(out.end(), words.begin(), words.end());
  std::ranges::reverse(out);
  return out;
}

std::optional<int> CommandLine::read(int argc, char** argv) {
  if (rest_) parser_->prefix_command();
  if (argc == 4 && std::string_view(argv[1]) == "--complete") {
    print_completions(argv[2], argv[3]);
    return 0;
  }
  try {
    parser_->parse(arguments(argc, argv));
  } catch (const CLI::CallForHelp&) {
    std::fputs(parser_->help().c_str(), stdout);
    return 0;
  } catch (const CLI::CallForVersion& version) {
    std::puts(version.what());
    return 0;
  } catch (const CLI::ExtrasError&) {
    std::string first = parser_->remaining().front();
    if (!first.starts_with('-')) return misuse(cat("unexpected argument `", first, "`"));
    first = first.substr(0, first.find('='));
    return misuse(cat("unknown flag `", first, "`", did_you_mean(first, flag_names())));
  } catch (const CLI::ConversionError& e) {
    return misuse(about_conversion(e.what()));
  } catch (const CLI::ParseError& e) {
    return misuse(e.what());
  }
  if (rest_) *rest_ = parser_->remaining();
  return std::nullopt;
}

int CommandLine::misuse(std::string_view why) const {
  std::fprintf(stderr, "cardea %s: %s; try `cardea %s --help`\n", about_.name.c_str(),
               std::string(why.substr(0, why.find('\n'))).c_str(), about_.name.c_str());
  return 2;
}

int CommandLine::failed(std::string_view why) const {
  std::fprintf(stderr, "cardea %s: %s\n", about_.name.c_str(), std::string(why).c_str());
  return 2;
}

}  // namespace cardea::app

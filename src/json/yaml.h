#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "json/parse.h"

namespace cardea::json {

// Reads the first YAML document as JSON, resolving plain scalars as Kubernetes does (YAML 1.1:
// `yes` and `on` are booleans, `0777` and `0o777` octal, `1_000` a number, `~` null; quoted is
// always a string). Duplicate keys are reported, the last one stands. Aliases may expand to at most
// `max_bytes` of text.
Result<Document> parse_yaml(std::string_view text, std::size_t max_bytes);

// Reads a configuration file: one document, without content that a reader could misunderstand.
//
// Text that begins with `{` is JSON and nothing else, as for kube-apiserver's decoder, unless
// YAML's flow style is allowed too. Everything else is YAML, where further documents (except
// comments, and empty ones), merge keys (`<<`), tags (`!!int`), trailing commas, control
// characters, line ends other than LF and CRLF, and text that is not UTF-8 are errors. So is
// anything but comments after `...`. A byte order mark is ignored. Duplicate keys are reported
// as above; readers of a configuration refuse them.
enum class FlowStyle : bool { kRefused, kAllowed };
Result<Document> parse_configuration(std::string_view text, std::size_t max_bytes,
                                     FlowStyle flow = FlowStyle::kRefused);
bool is_json_configuration(std::string_view text);

// The same, where duplicate keys are errors in the words of Kubernetes' readers.
Result<Value> parse_strict_configuration(std::string_view text, std::size_t max_bytes,
                                         FlowStyle flow = FlowStyle::kRefused);

// Whether an unquoted scalar stands for its own text rather than for a number, a boolean or
// nothing.
bool yaml_reads_as_string(std::string_view plain);

// Prints in YAML's block style as Kubernetes does: keys in an order people expect (`p9` before
// `p10`), strings plain where they read as themselves, several lines as a literal block, quoted
// otherwise.
std::string print_yaml(const Value& value);

}  // namespace cardea::json

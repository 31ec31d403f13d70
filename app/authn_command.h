#pragma once

namespace cardea::app {

// `cardea authn test`: what a configuration makes of a token.
int authn_test_command(int argc, char** argv);
// `cardea authn explain`: what a configuration means, in words.
int authn_explain_command(int argc, char** argv);

}  // namespace cardea::app

#pragma once

namespace cardea::app {

// `cardea completion bash|zsh|fish`: a script that lets a shell complete command lines of cardea.
int completion_command(int argc, char** argv);

// `cardea __complete WORD...`, which these scripts call: the words of a command line that is being
// written, the last one perhaps empty. Prints what may stand in its place, one in a line, with its
// meaning behind a tab.
int complete_words(int argc, char** argv);

}  // namespace cardea::app

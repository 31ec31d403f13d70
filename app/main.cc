#include "app/commands.h"

int main(int argc, char** argv) {
  return cardea::app::run(argc, argv);
}

#include "cli/app.h"

int main(int argc, char** argv) { return moetune::run_app(argc, argv); }

// Runs all tests, or those whose claim contains the first argument. With `--only CLAIM`, the one
// with just that claim; with `--ctest FILE PROGRAM`, lists them all in a file for ctest.
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <vector>

#include "check.hpp"

namespace coreplan::testing {

namespace {

struct Test {
    const char* claim;
    const char* file;
    int line;
    void (*body)();
};

// Functions, not globals: tests are added while globals of other files are still being made.
std::vector<Test>& tests() {
    static std::vector<Test> all;
    return all;
}

std::vector<std::string>& contexts() {
    static std::vector<std::string> open;
    return open;
}

int failures_of_test = 0;
constexpr int kMostPrinted = 10;  // a wrong loop must not bury the other failures

}  // namespace

bool add(const char* claim, const char* file, int line, void (*body)()) {
    tests().push_back({claim, file, line, body});
    return true;
}

void fail(const char* file, int line, const std::string& what) {
    if (++failures_of_test > kMostPrinted) return;
    std::printf("%s:%d: %s\n", file, line, what.c_str());
    for (const std::string& context : contexts()) std::printf("    with %s\n", context.c_str());
}

void Context::push(std::string text) { contexts().push_back(std::move(text)); }
void Context::pop() { contexts().pop_back(); }

namespace {

bool passes(const Test& test) {
    failures_of_test = 0;
    const auto start = std::chrono::steady_clock::now();
    try {
        test.body();
    } catch (const std::exception& exception) {
        fail(test.file, test.line, std::string("exception: ") + exception.what());
    } catch (...) {
        fail(test.file, test.line, "an exception of unknown type");
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    if (failures_of_test > kMostPrinted) {
        std::printf("    ... and %d more\n", failures_of_test - kMostPrinted);
    }
    if (failures_of_test > 0) std::printf("FAILED: %s (%s:%d)\n", test.claim, test.file, test.line);
    if (seconds.count() > 0.5) std::printf("slow: %.2f s: %s\n", seconds.count(), test.claim);
    return failures_of_test == 0;
}

bool list_for_ctest(const char* file, const char* program) {
    std::FILE* out = std::fopen(file, "w");
    if (out == nullptr) return false;
    for (const Test& test : tests()) {
        std::fprintf(out, "add_test([=[%s]=] [=[%s]=] --only [=[%s]=])\n", test.claim, program,
                     test.claim);
    }
    return std::fclose(out) == 0;
}

bool is_wanted(const Test& test, int argc, char** argv) {
    if (argc == 3 && std::strcmp(argv[1], "--only") == 0) {
        return std::strcmp(test.claim, argv[2]) == 0;
    }
    return argc < 2 || std::strstr(test.claim, argv[1]) != nullptr;
}

}  // namespace

}  // namespace coreplan::testing

int main(int argc, char** argv) {
    if (argc == 4 && std::strcmp(argv[1], "--ctest") == 0) {
        return coreplan::testing::list_for_ctest(argv[2], argv[3]) ? 0 : 1;
    }
    int passed = 0;
    int failed = 0;
    for (const auto& test : coreplan::testing::tests()) {
        if (!coreplan::testing::is_wanted(test, argc, argv)) continue;
        ++(coreplan::testing::passes(test) ? passed : failed);
    }
    std::printf("%d passed, %d failed\n", passed, failed);
    return failed == 0 && passed > 0 ? 0 : 1;
}

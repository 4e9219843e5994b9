// A small test harness. A test is a claim and a body; a failed check is printed with its values and
// the test goes on, so that one run shows all that is wrong.
#pragma once

#include <cmath>
#include <concepts>
#include <ranges>
#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace coreplan::testing {

// Called before main for every TEST; returns a value only so that it can initialise something.
bool add(const char* claim, const char* file, int line, void (*body)());

// Counts a failure of the running test and prints it.
void fail(const char* file, int line, const std::string& what);

// What the running test is looking at, printed with its failures: which seed, which variant.
class Context {
public:
    template <class T>
    Context(const char* name, const T& value) {
        std::ostringstream text;
        text << name << ' ' << value;
        push(text.str());
    }
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;
    ~Context() { pop(); }

private:
    static void push(std::string text);
    static void pop();
};

template <class T>
std::string show(const T& value) {
    std::ostringstream text;
    text.precision(17);
    if constexpr (std::same_as<T, bool>) {
        text << (value ? "true" : "false");
    } else if constexpr (std::is_enum_v<T>) {
        text << '#' << static_cast<long long>(value);
    } else if constexpr (requires { text << value; }) {
        text << value;
    } else if constexpr (std::ranges::input_range<T>) {
        text << '[';
        const char* separator = "";
        for (const auto& each : value) {
            text << separator << show(each);
            separator = ", ";
        }
        text << ']';
    } else if constexpr (requires {
                             value.first;
                             value.second;
                         }) {
        text << '(' << show(value.first) << ", " << show(value.second) << ')';
    } else {
        text << "(something)";
    }
    return text.str();
}

struct Outcome {
    bool holds;
    std::string values;
};

template <class T>
concept Whole = std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, char>;

// The left side of a comparison, kept so that both sides can be shown. Integers are compared by
// value: a test may compare a size with a plain literal.
template <class L>
class Left {
public:
    explicit Left(const L& left) : left_(left) {}

#define COREPLAN_COMPARE(op, whole)                                     \
    template <class R>                                                  \
    Outcome operator op(const R& right) const {                         \
        if constexpr (Whole<L> && Whole<R>) {                           \
            return with(whole(left_, right), #op, right);               \
        } else {                                                        \
            return with(static_cast<bool>(left_ op right), #op, right); \
        }                                                               \
    }
    COREPLAN_COMPARE(==, std::cmp_equal)
    COREPLAN_COMPARE(!=, std::cmp_not_equal)
    COREPLAN_COMPARE(<, std::cmp_less)
    COREPLAN_COMPARE(<=, std::cmp_less_equal)
    COREPLAN_COMPARE(>, std::cmp_greater)
    COREPLAN_COMPARE(>=, std::cmp_greater_equal)
#undef COREPLAN_COMPARE

    // A condition without a comparison.
    // NOLINTNEXTLINE(google-explicit-constructor): the macro takes either kind.
    operator Outcome() const { return {static_cast<bool>(left_), show(left_)}; }

private:
    template <class R>
    Outcome with(bool holds, const char* op, const R& right) const {
        if (holds) return {true, {}};
        return {false, show(left_) + ' ' + op + ' ' + show(right)};
    }

    const L& left_;
};

struct Start {
    template <class L>
    Left<L> operator<<(const L& left) const {
        return Left<L>(left);
    }
};

inline void expect(const Outcome& outcome, const char* expression, const char* file, int line) {
    if (!outcome.holds) fail(file, line, std::string(expression) + "\n    is " + outcome.values);
}

inline void expect_near(double a, double b, double tolerance, const char* expression,
                        const char* file, int line) {
    if (std::abs(a - b) <= tolerance) return;  // false as well if one is not a number
    fail(file, line,
         std::string(expression) + "\n    is " + show(a) + " against " + show(b) + ", apart by " +
             show(std::abs(a - b)) + " > " + show(tolerance));
}

// The exception of this type that the call throws, to look at its parts. Without one the test ends.
template <class Exception, class Call>
Exception caught(const Call& call) {
    try {
        call();
    } catch (const Exception& exception) {
        return exception;
    }
    throw std::logic_error("the expected exception was not thrown");
}

}  // namespace coreplan::testing

#define COREPLAN_TEST_NAMED(claim, name)                            \
    static void name();                                             \
    [[maybe_unused]] static const bool name##_added =               \
        ::coreplan::testing::add(claim, __FILE__, __LINE__, &name); \
    static void name()
#define COREPLAN_TEST_AT(claim, line) COREPLAN_TEST_NAMED(claim, test_at_line_##line)
#define COREPLAN_TEST(claim, line) COREPLAN_TEST_AT(claim, line)
#define TEST(claim) COREPLAN_TEST(claim, __LINE__)

#define CHECK(...)                                                                         \
    ::coreplan::testing::expect(::coreplan::testing::Start{} << __VA_ARGS__, #__VA_ARGS__, \
                                __FILE__, __LINE__)
#define CHECK_NEAR(a, b, tolerance) \
    ::coreplan::testing::expect_near(a, b, tolerance, #a " ~ " #b, __FILE__, __LINE__)
#define CHECK_THROWS(Type, ...)                                                    \
    do {                                                                           \
        bool thrown_ = false;                                                      \
        try {                                                                      \
            static_cast<void>(__VA_ARGS__);                                        \
        } catch (const Type&) {                                                    \
            thrown_ = true;                                                        \
        }                                                                          \
        if (!thrown_) {                                                            \
            ::coreplan::testing::fail(__FILE__, __LINE__,                          \
                                      #__VA_ARGS__ "\n    does not throw " #Type); \
        }                                                                          \
    } while (false)

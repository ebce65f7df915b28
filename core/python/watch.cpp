#include "common/watch.hpp"

#include <optional>
#include <utility>

#include "python/arrays.hpp"
#include "python/bindings.hpp"

namespace nb = nanobind;

namespace minimand::python {
namespace {

/// Python functions that answer, and one that raises. Never destroyed: threads may outlive every
/// static object.
struct Answers {
  nb::object stop, give_up, raise;
};
Answers& answers() {
  static auto* const known = new Answers();
  return *known;
}

/// The exception that a signal handler has raised in answer to a kernel of this thread.
std::optional<nb::python_error>& what_came() {
  thread_local std::optional<nb::python_error> kept;
  return kept;
}

/// Calls Python from a kernel that has released its lock. Threads that the core has started are
/// unknown to Python, and are never asked. An exception comes from a signal handler (Ctrl-C, an
/// alarm): the kernel stops, and the calling code meets the exception once it has returned.
bool call(const nb::object& function) {
  if (PyGILState_GetThisThreadState() == nullptr) return false;
  nb::gil_scoped_acquire lock;
  try {
    return nb::cast<bool>(function());
  } catch (nb::python_error& error) {
    what_came().emplace(std::move(error));
    return true;
  }
}

void watch(nb::object stop, nb::object give_up, nb::object raise) {
  answers() = {std::move(stop), std::move(give_up), std::move(raise)};
  ask([] { return call(answers().stop); }, [] { return call(answers().give_up); });
}

}  // namespace

void throw_what_came() {
  if (!what_came()) return;
  nb::python_error error = std::move(*what_came());
  what_came().reset();
  throw error;
}

void bind_watch(nb::module_& m) {
  m.def("watch", &watch, nb::arg("stop"), nb::arg("give_up"), nb::arg("raise_"),
        "Functions without arguments: whether a kernel shall hand over what it has, whether one "
        "that has nothing to hand over shall give up, and one that then raises an exception.");
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Stopped&) {
      try {
        throw_what_came();
        answers().raise();
        PyErr_SetString(PyExc_RuntimeError, "a kernel was given up, and nobody says why");
      } catch (nb::python_error& error) {
        error.restore();
      }
    }
  });
}

}  // namespace minimand::python

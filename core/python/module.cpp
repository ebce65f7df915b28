#include "common/parallel.hpp"
#include "python/arrays.hpp"
#include "python/bindings.hpp"

namespace minimand::python {
namespace {

/// Says how many threads of a pool, the calling one among them, share the processors. Never
/// destroyed: threads may outlive every static object.
nb::object& sharers() {
  static nb::object* const hook = new nb::object();
  return *hook;
}

int num_threads_here() {
  if (!knows_its_share()) settle_share();
  return threads_here();
}

}  // namespace

void settle_share() {
  if (sharers().is_valid()) share_threads(nb::cast<int>(sharers()()));
}

}  // namespace minimand::python

NB_MODULE(_core, m) {
  m.doc() = "Compiled kernels of minimand: products, moments, Gram matrices, coordinate descent.";
  nanobind::set_leak_warnings(false);  // matrices may live until the interpreter ends
  m.def("get_num_threads", &minimand::python::num_threads_here,
        "Number of threads that a kernel called from this thread may use.");
  m.def("set_num_threads", &minimand_set_num_threads, nanobind::arg("count"),
        "Set the number of threads a kernel may use (at least one).");
  m.def(
      "ask_for_sharers",
      [](nanobind::object hook) { minimand::python::sharers() = std::move(hook); },
      nanobind::arg("hook"),
      "Let hook() say, once for every thread, how many threads of a pool share the processors.");
  minimand::python::bind_compressed(m);
  minimand::python::bind_sparse(m);
  minimand::python::bind_dense(m);
  minimand::python::bind_descent(m);
  minimand::python::bind_interior(m);
  minimand::python::bind_support(m);
  minimand::python::bind_path(m);
  minimand::python::bind_groups(m);
  minimand::python::bind_scalar(m);
  minimand::python::bind_scores(m);
  minimand::python::bind_piecewise(m);
  minimand::python::bind_dual(m);
  minimand::python::bind_dual_batch(m);
  minimand::python::bind_class_dual(m);
  minimand::python::bind_kernel_dual(m);
  minimand::python::bind_chain_perceptron(m);
  minimand::python::bind_pairs(m);
  minimand::python::bind_chain(m);
  minimand::python::bind_chain_sparse(m);
  minimand::python::bind_pairwise(m);
  minimand::python::bind_clusters(m);
  minimand::python::bind_stochastic(m);
  minimand::python::bind_structures(m);
  minimand::python::bind_trees(m);
  minimand::python::bind_watch(m);
}

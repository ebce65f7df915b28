#include "parallel.hpp"
#include "python/bindings.hpp"

NB_MODULE(_core, m) {
  m.doc() = "Compiled kernels of minimand: products, moments, Gram matrices, coordinate descent.";
  m.def("get_num_threads", &minimand_get_num_threads, "Number of threads a kernel may use.");
  m.def("set_num_threads", &minimand_set_num_threads, nanobind::arg("count"),
        "Set the number of threads a kernel may use (at least one).");
  minimand::python::bind_sparse(m);
  minimand::python::bind_dense(m);
  minimand::python::bind_descent(m);
  minimand::python::bind_scalar(m);
  minimand::python::bind_piecewise(m);
  minimand::python::bind_dual(m);
  minimand::python::bind_online(m);
  minimand::python::bind_stochastic(m);
  minimand::python::bind_watch(m);
}

#pragma once

#include <nanobind/nanobind.h>

// Every file of this room binds its kernels by one of these functions, called by module.cpp.
namespace minimand::python {

void bind_compressed(nanobind::module_& m);
void bind_sparse(nanobind::module_& m);
void bind_dense(nanobind::module_& m);
void bind_descent(nanobind::module_& m);
void bind_interior(nanobind::module_& m);
void bind_support(nanobind::module_& m);
void bind_path(nanobind::module_& m);
void bind_groups(nanobind::module_& m);
void bind_scalar(nanobind::module_& m);
void bind_scores(nanobind::module_& m);
void bind_piecewise(nanobind::module_& m);
void bind_dual(nanobind::module_& m);
void bind_dual_batch(nanobind::module_& m);
void bind_class_dual(nanobind::module_& m);
void bind_kernel_dual(nanobind::module_& m);
void bind_chain_perceptron(nanobind::module_& m);
void bind_pairs(nanobind::module_& m);
void bind_chain(nanobind::module_& m);
void bind_chain_sparse(nanobind::module_& m);
void bind_pairwise(nanobind::module_& m);
void bind_clusters(nanobind::module_& m);
void bind_stochastic(nanobind::module_& m);
void bind_structures(nanobind::module_& m);
void bind_trees(nanobind::module_& m);
void bind_watch(nanobind::module_& m);

}  // namespace minimand::python

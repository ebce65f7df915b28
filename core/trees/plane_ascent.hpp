#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "common/lanes.hpp"
#include "trees/feature_rows.hpp"

// The dual of max-margin training over labellings that were met so far.
namespace minimand {

/// u moved towards zero.
MINIMAND_INLINE double shrunk(double u, double by) {
  return std::copysign(std::max(std::abs(u) - by, 0.0), u);
}

/// A labelling c of a unit, less the true one: value times (row, label), and its cost.
///
/// Rows count nodes first, then edges; the label of an edge is first * k + second.
struct Entry {
  std::int64_t row;
  std::int32_t label;
  double value;
};

/// Maximises, over distributions beta_i on the planes of every unit i,
///
///   D = sum_i s_i sum_c beta_ic cost_ic - alpha/2 |w|^2,
///   w = shrunk(base - g, l1)/alpha,   g = sum_i s_i beta_ic a_ic,
///
/// where a_ic is the sum of value times the feature row, in the block of weights of its label, and
/// shrunk moves every number towards zero by its l1. This is the dual of the penalty
/// sum_j l1_j |w_j| + alpha/2 |w|^2 - base·w. Units are visited in random order; each is maximised
/// over its own planes, by steps between two of them. With an l1 part D curves less along them than
/// with alpha/2 |w|^2 alone: by how much is learnt from a line search along their sum.
class PlaneAscent {
 public:
  PlaneAscent(FeatureRows nodes, FeatureRows edges, std::size_t n_nodes, std::size_t n_edges,
              std::size_t k, std::vector<double> mass, double alpha, std::vector<double> present,
              std::vector<double> l1);

  /// Other values of alpha and base; `refresh` must follow.
  void centre(double alpha, std::span<const double> base);

  std::size_t units() const { return units_.size(); }
  std::size_t planes() const;
  std::size_t coefficients() const { return w_.size(); }
  std::size_t rows() const { return n_nodes_ + n_edges_; }
  std::size_t labels_of(std::size_t row) const { return row < n_nodes_ ? k_ : k_ * k_; }

  /// A number (base - g)/alpha, by how much a step moves it, and what it is shrunk by to a weight.
  struct Moved {
    double moves, pull, by;
  };

  /// Adds a plane to a unit, at beta = 0.
  void add(std::size_t unit, double cost, std::span<const Entry> entries);

  /// Visits all units `passes` times; ends early if the sum of what units can still gain by linear
  /// terms falls below `enough`. Returns that sum as the last pass met it, and the passes.
  struct Outcome {
    double slack;
    std::size_t passes;
  };
  Outcome run(std::size_t passes, double enough, std::uint64_t seed);

  /// Sums g and w anew from the betas; D is computed from them.
  double refresh();

  /// For weights v: sum_c beta_ic (cost_ic + v·a_ic) and the largest term, of every unit.
  void measure(std::span<const double> v, std::span<double> held, std::span<double> best) const;

  /// Drops planes that have had beta = 0 in `age` passes.
  void forget(std::size_t age);

  /// All planes, unit by unit: their vectors a, one row each, costs, betas and units.
  void list(std::span<double> rows, std::span<double> costs, std::span<double> betas,
            std::span<double> units) const;
  /// Sets the betas of all planes, in the same order; `refresh` must follow.
  void place(std::span<const double> betas);

  std::span<const double> weights() const { return w_; }
  /// g as of the last `refresh`.
  std::span<const double> slope() const { return slope_; }

 private:
  struct Atom {
    std::int64_t row;
    std::int32_t label;
    std::uint32_t uses;
  };
  struct Plane {
    double cost, beta;
    std::uint32_t idle;
    std::vector<std::uint32_t> atoms;
    std::vector<double> values;
  };
  struct Unit {
    std::vector<Atom> atoms;
    std::vector<Plane> planes;  // the first one is the truth
    double longer = 1.0;        // with an l1 part: steps over those without one
    std::vector<double> gram;   // a_c · a_d, row by row
    std::unordered_map<std::uint64_t, std::uint32_t> places;  // of atoms in use, by `key`
    std::vector<std::uint32_t> unused;                        // places of the others
  };

  const double* block(const Atom& atom, const double* w) const;
  double dot(const Atom& atom, const double* w) const;
  void add(const Atom& atom, double factor, std::vector<double>& w) const;
  /// Calls `look(place)` for the weights that an atom touches.
  template <class Look>
  void each_place(const Atom& atom, Look look) const {
    const auto row = static_cast<std::size_t>(atom.row);
    const auto first = static_cast<std::size_t>(block(atom, w_.data()) - w_.data());
    const auto shifted = [&](std::size_t j) { look(first + j); };
    row < n_nodes_ ? nodes_.each(row, shifted) : edges_.each(row - n_nodes_, shifted);
  }
  std::uint64_t key(std::int64_t row, std::int32_t label) const {
    return static_cast<std::uint64_t>(row) * k_ * k_ + static_cast<std::uint64_t>(label);
  }
  std::uint32_t atom_of(Unit& unit, const Entry& entry) const;
  double visit(std::size_t number);
  void move(const Unit& unit, double rate);
  void move_shrunk(Unit& unit, double rate);
  void sum_change(const Unit& unit);
  double longer(Unit& unit, double rate) const;
  void read(const Unit& unit, const double* w, std::vector<double>& atoms,
            std::vector<double>& heights) const;

  FeatureRows nodes_, edges_;
  std::size_t n_nodes_, n_edges_, k_, edge_part_;
  std::vector<double> mass_, present_;
  double alpha_;
  std::vector<double> l1_, base_;  // empty: zeros
  std::vector<Unit> units_;
  std::vector<double> w_, slope_, scratch_, atoms_, heights_, change_;
  std::vector<double> pull_;          // with an l1 part: (base - g)/alpha; else empty
  std::vector<std::size_t> touched_;  // places that a step changes
  std::vector<Moved> line_;           // and by how much
  std::vector<std::uint8_t> is_touched_;
};

}  // namespace minimand

#pragma once

#include "descent/gram_steps.hpp"
#include "groups/quadratic.hpp"

namespace minimand {

/// A quadratic whose matrix is given: slopes are up to date everywhere after every move.
class GramQuadratic final : public GroupQuadratic {
 public:
  GramQuadratic(const GramView& gram, std::span<const std::int64_t> starts,
                std::span<const double> q, double square, std::size_t scores)
      : GroupQuadratic(starts, q, square, scores), gram_(gram) {}

  void look(Rows) override {}
  void look_everywhere() override {}
  void move(Rows rows, std::span<const double> change) override;
  OwnMatrix own(std::size_t group) override;
  void choose(std::span<const Rows> parts) override;
  void multiply(std::span<const double> d, std::span<double> image) override;

 private:
  void begin() override { slopes_.assign(q().begin(), q().end()); }

  GramView gram_;
  std::vector<double> chosen_;  // the matrix of the selected rows
  std::vector<double> padded_;  // d as a table of scores: see `panels.hpp`
  std::size_t size_ = 0;
};

}  // namespace minimand

#pragma once

#include "descent/gram_steps.hpp"
#include "groups/newton_vectors.hpp"
#include "groups/quadratic.hpp"

namespace minimand {

/// A quadratic whose matrix is given: slopes are up to date everywhere after every move.
class GramQuadratic final : public GroupQuadratic {
 public:
  GramQuadratic(const GramView& gram, std::span<const std::int64_t> starts, std::size_t scores)
      : GroupQuadratic(starts, scores), gram_(gram) {}

  void look(Rows) override {}
  void look_everywhere() override {}
  void move(std::size_t first, std::size_t groups, std::span<const double> change) override;
  OwnMatrix own(std::size_t group) override;
  void choose(std::span<const Rows> parts) override;
  void multiply(std::span<const double> d, std::span<double> image) override;
  void move_ray(std::size_t group, std::span<const double> change,
                std::span<const double>) override {
    move(group, 1, change);
  }
  void choose_rays(std::span<const std::size_t> groups, std::span<const double> w) override;
  void slopes_of_rays(std::span<double> slopes) override;
  void bends_of_rays(std::span<double> bends) override;
  void multiply_rays(std::span<const double> x, std::span<double> image) override;
  void stretch(std::span<const double> x) override;

 private:
  void begin() override {}
  void remember() override { before_ = slopes_; }
  void draw_on(double ahead) override { minimand::draw_on(slopes_, before_, ahead); }
  void look_back(Rows) override { forget(); }
  void recall(std::size_t) override {}

  GramView gram_;
  std::vector<double> chosen_;  // the matrix of the selected rows
  std::vector<double> padded_;  // d as a table of scores: see `panels.hpp`
  std::size_t size_ = 0;
  std::vector<double> before_;  // slopes at the place before
  std::vector<double> ray_slopes_;
  std::vector<double> along_;       // G w_g, one ray after the other
  std::vector<double> ray_matrix_;  // w_g'G w_h
};

}  // namespace minimand

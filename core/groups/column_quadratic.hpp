#pragma once

#include <memory>

#include "groups/quadratic.hpp"

namespace minimand {

/// Weights of the rows of some columns; the products of the columns are centred under them or not.
struct RowWeights {
  std::span<const double> h;  // none: all are one, and nothing is centred
  bool centred;
};

/// A quadratic of columns A, n numbers each, G = A'HA with the weights of the rows in H, or the
/// covariances under them. Its scores A(w - origin) are kept up to date, and slopes are products
/// with them: where the columns outnumber their entries, that is less than G has.
///
/// Newton steps see the columns in single precision. They need two or three digits, and the matrix
/// of rounded columns is a Gram matrix as well, so that it bends upwards in every direction.
class ColumnQuadratic final : public GroupQuadratic {
 public:
  /// `columns` lie one after the other.
  ColumnQuadratic(std::span<const double> columns, std::size_t n,
                  std::span<const std::int64_t> starts, std::size_t scores);

  /// More columns after the others, which may lie elsewhere now.
  void grow(std::span<const double> columns, std::span<const std::int64_t> starts);

  /// Whether columns are rounded to single precision in all products for a single score, which
  /// halves what a sweep reads. It is then the quadratic of the rounded columns that is minimised.
  /// Places before are forgotten.
  void round(bool rounded);

  /// Other weights. The matrices of single groups may be those of weights that differ by a factor
  /// and little else: they determine how a step is found, not where steps lead to.
  void weigh(RowWeights weights);

  /// A(w - origin), not centred, for a single score.
  std::span<const double> image() const { return image_; }

  void look(Rows rows) override;
  void look_everywhere() override;
  void move(std::size_t first, std::size_t groups, std::span<const double> change) override;
  OwnMatrix own(std::size_t group) override;
  void choose(std::span<const Rows> parts) override;
  void multiply(std::span<const double> d, std::span<double> image) override;
  void move_ray(std::size_t group, std::span<const double> change,
                std::span<const double> own) override;
  void choose_rays(std::span<const std::size_t> groups, std::span<const double> w) override;
  void slopes_of_rays(std::span<double> slopes) override;
  void bends_of_rays(std::span<double> bends) override;
  void multiply_rays(std::span<const double> x, std::span<double> image) override;
  void stretch(std::span<const double> x) override;

 private:
  void begin() override;
  void remember() override;
  void draw_on(double ahead) override;
  void look_back(Rows rows) override;
  void recall(std::size_t group) override;
  void reserve();
  void meet_ray(std::size_t group, std::span<const double> own);
  void add(Rows rows, const double* change, double* table);
  void weigh_table(std::span<const double> table, std::span<double> to) const;
  void weigh_low();
  std::span<const double> weighted();
  void lower(Rows rows);
  const double* column(std::size_t row) const { return columns_.data() + row * n_; }

  std::span<const double> columns_;
  std::size_t n_;
  RowWeights weights_{{}, false};
  double total_ = 0.0;                    // of the weights
  double drift_ = 1.0;                    // of the total since `own_` was forgotten
  std::vector<double> image_;             // A(w - origin), a table of scores: see `panels.hpp`
  std::vector<double> weighted_;          // H times that, centred; none without weights
  bool fresh_ = false;                    // whether it is up to date
  std::vector<std::vector<double>> own_;  // by group; empty: not known yet
  bool rounded_ = false;                  // see `round`
  std::vector<std::unique_ptr<float[]>> pool_;
  std::vector<const float*> low_;  // by column, in units of its size; null: not yet
  std::vector<double> size_;       // of these: the largest entry
  std::vector<const float*> chosen_;
  std::vector<double> units_, scaled_;  // sizes of the selected columns, and d in their units
  std::vector<float> low_image_, low_padded_;
  std::vector<double> padded_;                     // a change of w as such a table
  std::vector<std::vector<double>> parts_;         // by group: A_g w_g, if it is known
  std::vector<char> knows_;                        // whether it is
  std::vector<std::vector<double>> before_parts_;  // the same at the place before
  std::vector<char> knew_;
  std::vector<double*> rays_;
  std::vector<double> ray_linear_;  // q_g'w_g
  std::vector<double> ray_room_, own_room_;
  std::vector<double> before_, slopes_before_;  // at the place before
};

}  // namespace minimand

#pragma once

#include <memory>

#include "groups/quadratic.hpp"

namespace minimand {

/// A quadratic of columns A, n numbers each, G = A'A. Its scores A w are kept up to date, and
/// slopes are products with them: where the columns outnumber their entries, that is less than G
/// has.
///
/// Newton steps see the columns in single precision. They need two or three digits, and A'A of
/// rounded columns is a Gram matrix as well, so that it bends upwards in every direction.
class ColumnQuadratic final : public GroupQuadratic {
 public:
  /// `columns` lie one after the other.
  ColumnQuadratic(std::span<const double> columns, std::size_t n,
                  std::span<const std::int64_t> starts, std::span<const double> q, double square,
                  std::size_t scores);

  void look(Rows rows) override;
  void look_everywhere() override;
  void move(Rows rows, std::span<const double> change) override;
  OwnMatrix own(std::size_t group) override;
  void choose(std::span<const Rows> parts) override;
  void multiply(std::span<const double> d, std::span<double> image) override;

 private:
  void begin() override;
  void lower(std::size_t row);
  const double* column(std::size_t row) const { return columns_.data() + row * n_; }

  std::span<const double> columns_;
  std::size_t n_;
  std::vector<double> image_;                  // A w, a table of scores: see `panels.hpp`
  std::vector<std::vector<double>> own_;       // by group; empty: not known yet
  std::vector<std::unique_ptr<float[]>> low_;  // by column, in units of its size; null: not yet
  std::vector<double> size_;                   // of these: the largest entry
  std::vector<const float*> chosen_;
  std::vector<double> units_, scaled_;  // sizes of the selected columns, and d in their units
  std::vector<float> low_image_, low_padded_;
  std::vector<double> padded_;  // a change of w as such a table
};

}  // namespace minimand

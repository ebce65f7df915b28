#include <limits>

#include "python/arrays.hpp"
#include "python/bindings.hpp"
#include "python/pieces.hpp"
#include "stochastic/epochs.hpp"
#include "stochastic/passes.hpp"
#include "stochastic/shuffle.hpp"

namespace minimand::python {
namespace {

/// The kind of the loss, its pieces, slopes given for every row, and the side of a kink.
using SlopeArrays = std::tuple<std::int64_t, PieceArrays, Array, bool>;
/// sign, shift, weight, and the rows in the order in which they come.
using RowArrays = std::tuple<Array, Array, Array, Array>;
/// eta, t0, power, tick, average_from, average_power, the intercept's share of a step (0: there is
/// none), its largest step, the share of the penalty in what rows pay (0: it is not added up), and
/// whether to rescale coefficients.
using Options =
    std::tuple<double, double, double, double, double, double, double, double, double, bool>;

RowSlopes row_slopes(const SlopeArrays& arrays, std::size_t size) {
  const auto& [kind, parts, given, left] = arrays;
  if (kind < 0 || kind > 2) value_problem("the kind of the loss must be 0, 1 or 2");
  const auto slopes = vector<double>(given, "given");
  if (static_cast<SlopeKind>(kind) == SlopeKind::given) check_size(slopes.size(), size, "given");
  return {static_cast<SlopeKind>(kind), pieces(parts), slopes, left};
}

StochasticRows stochastic_rows(const RowArrays& arrays, std::size_t n, std::size_t models) {
  const auto& [sign, shift, weight, order] = arrays;
  return {vector<double>(sign, "sign", n * models), vector<double>(shift, "shift", n * models),
          vector<double>(weight, "weight", n), row_numbers(order, "order", n)};
}

std::span<const double> factors(const Array& array, const char* name, std::size_t d) {
  const auto result = vector<double>(array, name);
  if (result.size() != 1) check_size(result.size(), d, name);
  return result;
}

/// How many groups of models, how many models there are in each (one, or kTogether), and how many
/// numbers of its own a coefficient has in each.
using Models = std::tuple<std::int64_t, std::int64_t, std::int64_t>;

/// Everything but the data; the arrays hold the numbers of one group after the other.
struct Steps {
  StepRule rule;
  const Models& models;
  const SlopeArrays& slopes;
  const RowArrays& rows;
  const std::pair<Array, Array>& penalty;
  const Options& options;
  const MutableArray& fields;
  const MutableArray& scalars;
  const MutableArray& moves;
};

/// Seed, whether to shuffle, tol, patience, and most passes.
using Rule = std::tuple<std::uint32_t, bool, double, std::int64_t, std::int64_t>;
/// Passes so far, the best objective, passes since then, and whether the model is finite.
using Course = std::tuple<std::int64_t, double, std::int64_t, bool>;

/// Passes of one model until they no longer help: the rows, which are shuffled, and the rule.
struct Epochs {
  const MutableArray& order;
  const Rule& rule;
  Course& course;
};

std::span<double> counted_moves(const MutableArray& array, std::size_t n) {
  return mutable_vector(array, "moves", array.size() == 0 ? 0 : n);
}

bool is_online(StepRule rule) { return rule != StepRule::plain && rule != StepRule::adaptive; }

/// What perceptron and passive-aggressive steps ask for beyond what all steps do.
void check_online(const StochasticPass& pass) {
  const bool penalised = StochasticPenalty::strongest(pass.penalty.l1) > 0.0 ||
                         StochasticPenalty::strongest(pass.penalty.l2) > 0.0;
  if (pass.slopes.kind != SlopeKind::pieces) value_problem("the loss must be made of pieces");
  if (pass.penalty.l1.size() != 1) value_problem("l1 must be one number");
  if (!(pass.options.eta > 0.0)) value_problem("eta must be positive");
  if (penalised && pass.options.average_from < std::numeric_limits<double>::infinity()) {
    value_problem("a penalised model cannot be averaged");
  }
  if (pass.groups != 1 && !pass.moves.empty()) value_problem("moves must be those of one model");
}

template <class Step, class Matrix>
void run_one_model(const Matrix& matrix, const StochasticPass& pass, Coefficients v,
                   const Epochs& epochs) {
  const auto order = row_numbers(epochs.order, "order", pass.n());
  if (order.data() != pass.rows.order.data()) value_problem("order must be that of the rows");
  const auto& [seed, shuffle, tol, patience, most] = epochs.rule;
  const EpochRule rule{seed, shuffle, tol, count(patience, "patience"), count(most, "most")};
  const auto& [done, best, waited, finite] = epochs.course;
  const EpochCourse begun{count(done, "passes"), best, count(waited, "passes"), finite};
  const EpochCourse found =
      without_gil([&] { return run_epochs<Step>(matrix, pass, v, order, rule, begun); });
  epochs.course = {static_cast<std::int64_t>(found.done), found.best,
                   static_cast<std::int64_t>(found.waited), found.finite};
}

template <template <class> class Step, class V, class Matrix>
void run_steps(const Matrix& matrix, std::size_t n, std::size_t d, const Steps& steps,
               const Epochs* epochs) {
  const auto [eta, t0, power, tick, from, average_power, intercept, b_step, add_up, rescale] =
      steps.options;
  const std::size_t groups = count(std::get<0>(steps.models), "models");
  const std::size_t models = groups * kModels<V>;
  const std::size_t own = count(std::get<2>(steps.models), "models");
  if (!Step<V>::Counts::known(own)) value_problem("models have one to three numbers each");
  const std::size_t width = own * kModels<V> + typename Step<V>::Counts(own).common;
  const auto& [l1, l2] = steps.penalty;
  const StochasticPass pass{
      row_slopes(steps.slopes, n * models),
      stochastic_rows(steps.rows, n, models),
      {factors(l1, "l1", d), factors(l2, "l2", d)},
      {steps.rule, eta, t0, power, tick, from, average_power, intercept, b_step, add_up, rescale},
      mutable_vector(steps.scalars, "scalars", groups * StochasticScalars<V>::kSize),
      mutable_vector(steps.fields, "fields", groups * width * d),
      counted_moves(steps.moves, n),
      d,
      groups,
      own};
  if (own <= kLag && from < std::numeric_limits<double>::infinity()) {
    value_problem("averages need two numbers of every coefficient");
  }
  if (steps.rule != StepRule::adaptive && own <= kReceived &&
      StochasticPenalty::strongest(pass.penalty.l1) > 0.0) {
    value_problem("an l1 penalty needs three numbers of every coefficient");
  }
  if (steps.rule != StepRule::adaptive && pass.penalty.l2.size() != 1) {
    value_problem("l2 must be one number");
  }
  if (is_online(steps.rule)) check_online(pass);
  if (epochs == nullptr) {
    without_gil([&] { Step<V>::run(matrix, pass); });
  } else if constexpr (kModels<V> == 1) {
    if (groups != 1 || steps.rule == StepRule::adaptive) {
      value_problem("passes that end by themselves are those of one model without adaptive rates");
    }
    const bool packed = RowOf<Matrix>::kSparse && steps.rule == StepRule::plain;
    run_one_model<Step<V>>(matrix, pass, {pass.fields, d, packed ? width : 1}, *epochs);
  }
}

template <class V, class Matrix>
void run_steps_of(const Matrix& matrix, std::size_t n, std::size_t d, const Steps& steps,
                  const Epochs* epochs = nullptr) {
  if (steps.rule == StepRule::plain) {
    run_steps<PlainStep, V>(matrix, n, d, steps, epochs);
  } else if (steps.rule == StepRule::adaptive) {
    run_steps<AdaptiveStep, V>(matrix, n, d, steps, epochs);
  } else if constexpr (kModels<V> == 1) {
    run_steps<OnlineStep, V>(matrix, n, d, steps, epochs);
  } else {
    value_problem("models of an online rule must come one by one");
  }
}

StepRule step_rule(std::int64_t rule) {
  if (rule < 0 || rule > 4) value_problem("the rule must be a number from 0 to 4");
  return static_cast<StepRule>(rule);
}

template <class Rows>
void learn_rows(const Rows& lines, std::int64_t rule, const Models& models,
                const SlopeArrays& slopes, const RowArrays& rows,
                const std::pair<Array, Array>& penalty, const Options& options,
                const MutableArray& fields, const MutableArray& scalars,
                const MutableArray& moves) {
  const Steps steps{step_rule(rule), models, slopes,  rows, penalty,
                    options,         fields, scalars, moves};
  const std::int64_t together = std::get<1>(models);
  with_rows(lines, [&](const auto& matrix, std::size_t n, std::size_t d) {
    if (together == 1) {
      run_steps_of<double>(matrix, n, d, steps);
    } else if constexpr (std::is_same_v<Rows, Array>) {
      value_problem("models of dense rows must come one by one");
    } else if (together == static_cast<std::int64_t>(kTogether)) {
      run_steps_of<Many>(matrix, n, d, steps);
    } else {
      value_problem("models must come one by one or in groups of 8");
    }
  });
}

template <class Rows>
Course learn_epochs(const Rows& lines, std::int64_t rule, const Models& models,
                    const SlopeArrays& slopes, const RowArrays& rows,
                    const std::pair<Array, Array>& penalty, const Options& options,
                    const MutableArray& fields, const MutableArray& scalars,
                    const MutableArray& moves, const MutableArray& order, const Rule& when,
                    Course course) {
  const Steps steps{step_rule(rule), models, slopes,  rows, penalty,
                    options,         fields, scalars, moves};
  const Epochs epochs{order, when, course};
  if (std::get<1>(models) != 1) value_problem("models must come one by one");
  with_rows(lines, [&](const auto& matrix, std::size_t n, std::size_t d) {
    run_steps_of<double>(matrix, n, d, steps, &epochs);
  });
  return course;
}

void shuffle_rows(const MutableArray& order, std::uint32_t seed) {
  const auto rows = row_numbers(order, "order", std::size_t{1} << 32);
  without_gil([&] { minimand::shuffle_rows(rows, seed); });
}

}  // namespace

void bind_stochastic(nb::module_& m) {
  using nb::arg;
  m.def("learn_rows", &learn_rows<CheckedMatrix>, arg("matrix"), arg("rule"), arg("models"),
        arg("slopes"), arg("rows"), arg("penalty"), arg("options"), arg("fields").noconvert(),
        arg("scalars").noconvert(), arg("moves").noconvert(),
        "Steps over the rows of a CSR, one at a time; fields, scalars and moves in place.");
  m.def("learn_rows_dense", &learn_rows<Array>, arg("X"), arg("rule"), arg("models"), arg("slopes"),
        arg("rows"), arg("penalty"), arg("options"), arg("fields").noconvert(),
        arg("scalars").noconvert(), arg("moves").noconvert(),
        "Steps over dense rows, one at a time; fields, scalars and moves in place.");
  m.def("learn_epochs", &learn_epochs<CheckedMatrix>, arg("matrix"), arg("rule"), arg("models"),
        arg("slopes"), arg("rows"), arg("penalty"), arg("options"), arg("fields").noconvert(),
        arg("scalars").noconvert(), arg("moves").noconvert(), arg("order").noconvert(), arg("when"),
        arg("course"),
        "Passes over the rows of a CSR until they no longer help; returns how they went.");
  m.def("learn_epochs_dense", &learn_epochs<Array>, arg("X"), arg("rule"), arg("models"),
        arg("slopes"), arg("rows"), arg("penalty"), arg("options"), arg("fields").noconvert(),
        arg("scalars").noconvert(), arg("moves").noconvert(), arg("order").noconvert(), arg("when"),
        arg("course"), "Passes over dense rows until they no longer help; returns how they went.");
  m.attr("MODELS_TOGETHER") = kTogether;
  m.attr("SHARED_SCALARS") = StochasticScalars<double>::kShared;
  m.attr("SCALARS_PER_MODEL") = StochasticScalars<double>::kPerModel;
  m.def("shuffle_rows", &shuffle_rows, arg("order"), arg("seed"),
        "Permute row numbers at random, in place.");
}

}  // namespace minimand::python

"""Kernels of strings equal what a list of all substrings or subsequences gives."""

from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minimand as mm
from minimand.testing import check_kernel

TEXTS = st.lists(st.text("abc", max_size=7), min_size=1, max_size=4)
WORDS = ["banana", "ananas", "bandana", "cabana", "nab", "abracadabra", "bacon", "canon"]
KERNELS = [
    mm.Spectrum(2),
    mm.Spectrum(3, shorter=True),
    mm.Spectrum(2, shorter=True, binary=True),
    mm.Mismatch(3, 1),
    mm.Mismatch(2, 0),
    mm.Mismatch(3, 2, alphabet="abn"),
    mm.Subsequence(2),
    mm.Subsequence(3, decay=0.9),
    mm.Subsequence(7, decay=1.0),
    mm.Spectrum(1).normalize(),
    mm.Subsequence(2).normalize() + mm.Spectrum(2) * mm.Mismatch(2, 1),
    mm.Spectrum(2).center(),
]


def table(count, X, Z):
    """Σ_u count(x)[u]·count(z)[u] for all pairs."""
    return np.array(
        [[sum(count(x)[u] * times for u, times in count(z).items()) for z in Z] for x in X]
    ).reshape(len(X), len(Z))


def substrings(x, k):
    return Counter(tuple(x[i : i + k]) for i in range(len(x) - k + 1))


def stretched(x, k, decay):
    """Subsequences of k symbols with the sum of decay^(places that they span)."""
    found = Counter()
    for places in combinations(range(len(x)), k):
        found[tuple(x[i] for i in places)] += decay ** (places[-1] - places[0] + 1)
    return found


def near(x, k, m, alphabet):
    """Words with the number of substrings that differ in at most m places."""
    found = Counter()
    for word in product(alphabet, repeat=k):
        for part, times in substrings(x, k).items():
            found[word] += times * (sum(a != b for a, b in zip(part, word)) <= m)
    return found


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_every_kernel_obeys_the_laws(kernel):
    check_kernel(kernel, WORDS)
    check_kernel(kernel, [list(word) for word in WORDS])


@given(X=TEXTS, Z=TEXTS, k=st.integers(1, 4))
@settings(max_examples=40, deadline=None)
def test_spectrum_counts_common_substrings(X, Z, k):
    np.testing.assert_array_equal(mm.Spectrum(k)(X, Z), table(lambda x: substrings(x, k), X, Z))
    up_to = [sum((substrings(x, i) for i in range(1, k + 1)), Counter()) for x in X + Z]
    counts = dict(zip(X + Z, up_to))
    np.testing.assert_array_equal(mm.Spectrum(k, shorter=True)(X, Z), table(counts.get, X, Z))


def test_the_number_of_common_substrings_is_a_kernel():
    kernel = mm.Spectrum(20, shorter=True, binary=True)
    sets = [{w[i:j] for i in range(len(w)) for j in range(i + 1, len(w) + 1)} for w in WORDS]
    np.testing.assert_array_equal(kernel(WORDS), [[len(a & b) for b in sets] for a in sets])


@given(X=TEXTS, Z=TEXTS, m=st.integers(0, 2))
@settings(max_examples=12, deadline=None)
def test_mismatch_counts_words_that_differ_in_few_places(X, Z, m):
    for alphabet in ("abc", "ab", "abcd"):  # without one of the symbols, and with one more
        expected = table(lambda x, letters=alphabet: near(x, 3, m, letters), X, Z)
        np.testing.assert_array_equal(mm.Mismatch(3, m, alphabet=alphabet)(X, Z), expected)


def test_mismatch_takes_its_alphabet_from_the_training_strings():
    bound = mm.Mismatch(3, 1).bind(["abc", "cab"])
    assert sorted(bound.alphabet) == ["a", "b", "c"]
    np.testing.assert_array_equal(
        bound(["xab"], ["abc", "cab"]),
        table(lambda x: near(x, 3, 1, "abc"), ["xab"], ["abc", "cab"]),
    )
    fitted = mm.Mismatch(3, 1).fit(["abc", "cab"])
    words = {
        w: fitted.transform(["xab"])[0, j] for j, w in enumerate(fitted.get_feature_names_out())
    }
    assert (words["cab"], words["abc"]) == (1, 0)
    with pytest.raises(ValueError, match="takes the alphabet from the training rows"):
        mm.Mismatch(3, 1)(["abc"], ["cab"])


def test_without_mismatches_it_is_the_spectrum():
    np.testing.assert_array_equal(mm.Mismatch(3, 0)(WORDS), mm.Spectrum(3)(WORDS))


@given(X=TEXTS, Z=TEXTS, k=st.integers(1, 7), decay=st.sampled_from([0.3, 0.5, 1.0]))
@settings(max_examples=60, deadline=None)
def test_subsequences_are_those_of_an_enumeration(X, Z, k, decay):
    expected = table(lambda x: stretched(x, k, decay), X, Z)
    kernel = mm.Subsequence(k, decay)
    np.testing.assert_allclose(kernel(X, Z), expected, rtol=1e-12, atol=1e-15)
    own = [table(lambda x: stretched(x, k, decay), [x], [x]).item() for x in X]
    np.testing.assert_allclose(kernel.diag(X), own, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(np.diag(kernel(X)), own, rtol=1e-12, atol=1e-15)


def test_subsequences_of_one_symbol_without_gaps_are_the_spectrum():
    np.testing.assert_allclose(mm.Subsequence(1, 0.5)(WORDS), mm.Spectrum(1)(WORDS) / 4)
    small = mm.Subsequence(3, decay=1e-6)(WORDS) / 1e-36
    np.testing.assert_allclose(small, mm.Spectrum(3)(WORDS), atol=1e-4)


def test_tokens_are_symbols_like_characters():
    lists = [list(word) for word in WORDS]
    for kernel in (mm.Spectrum(2), mm.Mismatch(2, 1, alphabet="abcn"), mm.Subsequence(2)):
        np.testing.assert_array_equal(kernel(lists), kernel(WORDS))
        np.testing.assert_array_equal(kernel(lists, WORDS), kernel(WORDS))
        np.testing.assert_array_equal(kernel(np.array(WORDS)), kernel(WORDS))
    sentences = [["the", "cat", "sat"], ("the", "cat", 7), np.array([7, 7, 7])]
    np.testing.assert_array_equal(mm.Spectrum(2)(sentences), [[2, 1, 0], [1, 2, 0], [0, 0, 4]])
    names = mm.Spectrum(2).fit(sentences).get_feature_names_out()
    assert list(names) == ["the cat", "cat sat", "cat 7", "7 7"]


def test_new_substrings_have_no_column_but_count_in_the_kernel():
    fitted = mm.Spectrum(2).fit(["abab"])
    assert list(fitted.get_feature_names_out()) == ["ab", "ba"]
    np.testing.assert_array_equal(
        fitted.transform(["abxy", "é", ""]).toarray(), [[1, 0], [0, 0], [0, 0]]
    )
    assert mm.Spectrum(2).diag(["abxy"]) == [3.0]
    normalized = mm.Spectrum(2).normalize()(["abxy"], ["ab"])
    np.testing.assert_allclose(normalized, 1 / np.sqrt(3))


@pytest.mark.parametrize(
    ("X", "words"),
    [
        ("banana", "one text"),
        (None, "X is None"),
        (["a", None], "entry 1 is None"),
        (["a", ["a"]], r"entry 1 is \['a'\]"),
        ([[["a"]]], "tokens must be texts, numbers"),
        ([[object()]], "tokens must be texts, numbers"),
        (np.array([["a", "b"]]), "one per sample"),
        (3, "one int"),
    ],
)
@pytest.mark.parametrize("kernel", [mm.Spectrum(2), mm.Mismatch(2, 1), mm.Subsequence(2)], ids=repr)
def test_what_is_no_string_is_refused_in_words(kernel, X, words):
    with pytest.raises(ValueError, match=words):
        kernel(X)


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (mm.Spectrum(0), "k of Spectrum must be an integer ≥ 1"),
        (mm.Mismatch(2, 2), "must be less than k=2"),
        (mm.Mismatch(2, -1), "m of Mismatch must be an integer"),
        (mm.Mismatch(2, 1, alphabet=[]), "alphabet of Mismatch"),
        (mm.Subsequence(2, decay=0.0), "decay of Subsequence must be above 0 and at most 1"),
        (mm.Subsequence(2, decay=1.5), "decay of Subsequence"),
        (mm.Subsequence("2"), "k of Subsequence"),
    ],
)
def test_bad_parameters_are_refused_in_words(kernel, words):
    with pytest.raises(ValueError, match=words):
        kernel(["a"])


def test_too_many_neighbours_are_refused_before_they_are_made():
    letters = "".join(map(chr, range(200, 1200)))
    with pytest.raises(ValueError, match="too many: take a smaller m or k"):
        mm.Mismatch(5, 3)([letters])


def test_long_samples_overflow_in_words():
    with pytest.raises(ValueError, match="take a smaller decay"):
        mm.Subsequence(300, decay=1.0)(["a" * 600])  # C(600, 300)²

"""Drop-ins for scikit-learn: change the import and get a certificate.

The classes have scikit-learn's names, parameters, scales, fitted attributes and shapes, and are
subclasses of scikit-learn's own, so that code which asks ``isinstance`` keeps working. What is
new is ``certificate_`` and the meaning of ``tol``: the certified relative gap, by default 1e-6.
"""

from __future__ import annotations

from sklearn import linear_model

from .clusters.hierarchies import AgglomerativeClustering, BisectingKMeans
from .clusters.kmeans import KMeans, MiniBatchKMeans
from .clusters.spectral import SpectralClustering
from .components.certified import IncrementalPCA, KernelPCA, SpectralEmbedding
from .components.decompositions import PCA, TruncatedSVD
from .cross_validated import ElasticNetCV, LassoCV
from .elastic_net import ElasticNet, Lasso
from .glm import GammaRegressor, PoissonRegressor, TweedieRegressor
from .huber import HuberRegressor
from .information import LassoLarsIC
from .kernel_ridge import KernelRidge
from .kernel_svm.classifiers import SVC, NuSVC
from .kernel_svm.single import SVR, NuSVR, OneClassSVM
from .least_squares import LinearRegression, Ridge, RidgeClassifier
from .linear_svm import LinearSVC, LinearSVR
from .logistic import LogisticRegression
from .logistic_cv import LogisticRegressionCV
from .multi_task import (
    MultiTaskElasticNet,
    MultiTaskElasticNetCV,
    MultiTaskLasso,
    MultiTaskLassoCV,
)
from .neighbors import KNeighborsClassifier, KNeighborsRegressor
from .perceptron import Perceptron
from .quantile import QuantileRegressor
from .ridge_cv import RidgeCV
from .stochastic import SGDClassifier, SGDRegressor

__all__ = [
    "PCA",
    "SVC",
    "SVR",
    "AgglomerativeClustering",
    "BisectingKMeans",
    "ElasticNet",
    "ElasticNetCV",
    "GammaRegressor",
    "HuberRegressor",
    "IncrementalPCA",
    "KMeans",
    "KNeighborsClassifier",
    "KNeighborsRegressor",
    "KernelPCA",
    "KernelRidge",
    "Lasso",
    "LassoCV",
    "LassoLarsIC",
    "LinearRegression",
    "LinearSVC",
    "LinearSVR",
    "LogisticRegression",
    "LogisticRegressionCV",
    "MiniBatchKMeans",
    "MultiTaskElasticNet",
    "MultiTaskElasticNetCV",
    "MultiTaskLasso",
    "MultiTaskLassoCV",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "Perceptron",
    "PoissonRegressor",
    "QuantileRegressor",
    "Ridge",
    "RidgeCV",
    "RidgeClassifier",
    "SGDClassifier",
    "SGDRegressor",
    "SpectralClustering",
    "SpectralEmbedding",
    "TruncatedSVD",
    "TweedieRegressor",
]

if hasattr(linear_model, "PassiveAggressiveClassifier"):  # removed in scikit-learn 1.10
    from .passive_aggressive import PassiveAggressiveClassifier, PassiveAggressiveRegressor

    __all__ += ["PassiveAggressiveClassifier", "PassiveAggressiveRegressor"]

"""Kernels over strings, trees and graphs, and the features that they count."""

"""Kernels over strings, trees and graphs."""

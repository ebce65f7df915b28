"""Training of structured outputs: chains, trees and graphs of labels."""

//! Sonar diagrams, CDFs and other charts from numbers.

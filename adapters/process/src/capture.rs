//! Output that is bounded while it is read, and read to its end (D14).

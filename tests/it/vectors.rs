//! Public test vectors: the lists in `data/cases`, each against the profile it is meant for.

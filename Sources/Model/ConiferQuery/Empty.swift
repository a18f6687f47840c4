// Filled by the first code of this target.

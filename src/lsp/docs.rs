//! What may be written at a place of the tree, from the schema that the types make.

// Package abi holds the tables from which the layouts and names of package
// cupti are generated; it has no code.
//
// layout-12.8.tsv and layout-13.0.tsv were compiled from the CUPTI headers of
// CUDA 12.8 and 13.0 U1 (S struct size, F struct field offset size, E
// enumerator value, V macro value); kinds.tsv says which struct a library
// version writes for a kind; cbids.tsv lists the callback ids.
package abi

// Package metax decodes the activity records of MetaX's MCPTI, which is modelled on
// the CUPTI of CUDA 11.8. All it adds to package tracer/cupti is a table.
//
// No header of MCPTI is public; sizes of records and callback ids are what its users
// work with. Its iterator can return a stale pointer behind a record of an external
// id, so records are found by their known sizes. Callback ids are MetaX's own: by
// CUDA's table they would have names that look right and are not.
//
// Life cycle and traps are those of package tracer/cupti; see cupti.Dialect for the
// trial that the layout is put to.
package metax

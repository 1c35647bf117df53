package report

// allocatedKey is a key of the arguments of torch's events of memory.
const allocatedKey = "Total Allocated"

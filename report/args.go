package report

import "bytes"

// allocatedKey stands in the arguments of torch's events of memory.
var allocatedKey = []byte("Total Allocated")

// isMemory reports whether arguments are those of an event of memory.
func isMemory(args []byte) bool { return bytes.Contains(args, allocatedKey) }

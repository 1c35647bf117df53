package correlate

// temporary until the host reader's own lands
func CollectiveArgs(args []byte) []byte { return nil }

package status

// FileKinds returns the kinds of files, and the bytes that a file of each may have.
func FileKinds() map[string]int {
	out := make(map[string]int)
	for _, k := range fileKinds() {
		out[string(k)] = k.limits().Bytes
	}
	return out
}

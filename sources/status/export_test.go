package status

// FileKinds returns the kinds of files, and the bytes that a file of each may have.
func FileKinds() map[string]int {
	out := make(map[string]int)
	for _, k := range fileKinds() {
		out[string(k)] = k.limits().Bytes
	}
	return out
}

// ReadAs reads b as a file of that kind.
func ReadAs(kind string, b []byte) error {
	var f struct{ typeMeta }
	return fileKind(kind).decode(b, &f)
}

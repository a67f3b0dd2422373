package documents

// BlockJSON is blockJSON.
func BlockJSON(data []byte) ([]byte, bool) { return blockJSON(data) }

// WritesItself reports whether Write writes v without the library.
func WritesItself(v map[string]any) bool {
	w := blockWriter{plain: true}
	w.mapping(v, 0, false)
	return w.plain
}

package snapshot

import (
	"crypto/sha256"
	"encoding/json"
	"slices"
)

// PrintOf returns what is equal for equal lists; see Encoded.
func PrintOf(lists ...[]string) string {
	h := sha256.New()
	_ = json.NewEncoder(h).Encode(lists) // a hash takes all
	return string(h.Sum(nil))
}

// Encoded encodes each of all and sorts that: listings come in no order. What cannot be encoded is left out.
func Encoded[T any](all []*T) []string {
	var out []string
	for _, t := range all {
		if b, err := json.Marshal(t); err == nil {
			out = append(out, string(b))
		}
	}
	slices.Sort(out)
	return out
}

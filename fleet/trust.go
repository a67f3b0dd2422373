package fleet

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
)

// Trust is what of a cluster's trust a machine was made with, as in
// "ca=1f0c2b9a,certificates=93b0e4d7": for each thing that was ever rotated, a
// checksum of what it was. What was never rotated is not in it.
type Trust string

// NewTrust returns the trust with these checksums; empty ones are left out.
func NewTrust(checksums map[string]string) Trust {
	var parts []string
	for _, what := range slices.Sorted(maps.Keys(checksums)) {
		if checksums[what] != "" {
			parts = append(parts, what+"="+checksums[what])
		}
	}
	return Trust(strings.Join(parts, ","))
}

// Lacks returns the first thing of want that t has another checksum of, or none;
// empty when t has all of want. What t has beyond want does not matter.
func (t Trust) Lacks(want Trust) string {
	have := strings.Split(string(t), ",")
	for _, part := range strings.Split(string(want), ",") {
		if part != "" && !slices.Contains(have, part) {
			what, _, _ := strings.Cut(part, "=")
			return what
		}
	}
	return ""
}

// TrustChecksum returns the checksum of data, which is public or a person's word.
func TrustChecksum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:4])
}

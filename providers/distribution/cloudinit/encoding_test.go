package cloudinit_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"testing"

	"fairlead.dev/providers/distribution/cloudinit"
)

// TestCheckEncoding: content that cloud-init cannot decode is refused, and what it can is not.
func TestCheckEncoding(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write([]byte("hello"))
	_ = z.Close()
	coded := base64.StdEncoding.EncodeToString(packed.Bytes())
	for name, tc := range map[string]struct {
		encoding, content string
		refused           bool
	}{
		"text":                        {"", "no base64!", false},
		"base64":                      {"base64", "aGVsbG8=", false},
		"base64 of two bytes":         {"base64", "aGk=", false},
		"base64 of one byte":          {"base64", "aA==", false},
		"base64 in lines":             {"base64", "aGVs\n  bG8=\n", false},
		"other characters":            {"base64", "aGVs!-bG8=", false}, // Python skips them
		"behind the padding":          {"base64", "aGVsbG8=aGVsbG8", false},
		"no bytes":                    {"base64", "", false},
		"no padding":                  {"base64", "aGVsbG8", true},
		"half a padding":              {"base64", "aA=", true},
		"a padding that is torn":      {"base64", "aA=A", true},
		"text for base64":             {"base64", "hello", true},
		"gzip":                        {"gzip", packed.String(), false},
		"no bytes of gzip":            {"gzip", "", false},
		"no bytes of gzip in base64":  {"gzip+base64", "", false},
		"blanks of gzip in base64":    {"gzip+base64", "\n", false},
		"blanks for gzip":             {"gzip", "\n", true},
		"text for gzip":               {"gzip", "hello", true},
		"gzip that is cut":            {"gzip", packed.String()[:packed.Len()-9], true},
		"gzip in base64":              {"gzip+base64", coded, false},
		"gzip in base64, and more":    {"gzip+base64", base64.StdEncoding.EncodeToString(append(packed.Bytes(), 0, 0)), false},
		"base64 of text for gzip":     {"gzip+base64", "aGVsbG8=", true},
		"gzip without base64":         {"gzip+base64", packed.String()[:6], true},
		"value that is not known":     {"gzip+base64", "REDACTED", false},
		"value that is not known yet": {"base64", "REDACTED", false},
	} {
		if err := cloudinit.CheckEncoding(tc.encoding, []byte(tc.content)); (err != nil) != tc.refused {
			t.Errorf("%s: %v, want an error: %v", name, err, tc.refused)
		}
	}
}

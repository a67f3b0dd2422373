package cloudinit

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"io"
	"strings"

	"fairlead.dev/fleet"
)

// mostUnpacked bounds how much of a file is unpacked to check it.
const mostUnpacked = 16 << 20

// CheckEncoding refuses the content of a file that is not in its encoding: "base64", "gzip" or
// "gzip+base64". cloud-init would write no file of the machine then, and Ignition would not end, so
// that the machine would never join. Empty content is an empty file in each encoding. The value of a
// Secret that is not known here is not checked.
// Source: cloud-init, cc_write_files.py, decomp_gzip; Python, gzip.GzipFile.read.
func CheckEncoding(encoding string, content []byte) error {
	if string(content) == (fleet.Secret{}).String() {
		return nil
	}
	empty := len(content) == 0
	if strings.HasSuffix(encoding, "base64") {
		empty = len(bytes.TrimSpace(content)) == 0
		plain, ok := decodeBase64(content)
		if !ok {
			return fleet.FieldErrorf("encoding", "the content is not in base64") // an error would quote it
		}
		content = plain
	}
	if strings.HasPrefix(encoding, "gzip") && !empty && !isGzip(content) {
		return fleet.FieldErrorf("encoding", "the content is not in gzip")
	}
	return nil
}

// decodeBase64 decodes content as cloud-init does, and reports whether it can: other characters than
// those of base64 are skipped, and what follows the padding is not read.
// Source: Python, binascii.a2b_base64.
func decodeBase64(content []byte) ([]byte, bool) {
	var digits []byte
	padding := 0
	for _, c := range content {
		switch {
		case c == '=':
			padding++
			if rest := len(digits) % 4; rest >= 2 && rest+padding >= 4 {
				plain, err := base64.RawStdEncoding.DecodeString(string(digits))
				return plain, err == nil
			}
		case c == '+', c == '/', '0' <= c && c <= '9', 'A' <= c && c <= 'Z', 'a' <= c && c <= 'z':
			digits, padding = append(digits, c), 0
		}
	}
	plain, err := base64.StdEncoding.DecodeString(string(digits))
	return plain, err == nil
}

// isGzip reports whether content is packed by gzip.
func isGzip(content []byte) bool {
	r, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		return false
	}
	r.Multistream(false)
	_, err = io.CopyN(io.Discard, r, mostUnpacked)
	return err == nil || errors.Is(err, io.EOF)
}

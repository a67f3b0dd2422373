package cloudconfig

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
)

// A File is one of write_files.
type File struct {
	Path        string          `json:"path"`
	Encoding    string          `json:"encoding,omitempty"`
	Owner       string          `json:"owner,omitempty"`
	Permissions json.RawMessage `json:"permissions,omitempty"` // a string of octal digits, or a number
	Append      bool            `json:"append,omitempty"`
	Content     string          `json:"content"`
}

// Mode returns the permissions of f: 0644 where it says none.
func (f *File) Mode() (fs.FileMode, error) {
	if len(f.Permissions) == 0 || string(f.Permissions) == "null" {
		return 0o644, nil
	}
	var text string
	if json.Unmarshal(f.Permissions, &text) == nil {
		n, err := strconv.ParseUint(strings.TrimPrefix(text, "0o"), 8, 12)
		if err != nil {
			return 0, fmt.Errorf("permissions %q are no octal number", text)
		}
		return fs.FileMode(n), nil
	}
	var n uint16 // YAML has read an unquoted 0640 as an octal number already
	if err := json.Unmarshal(f.Permissions, &n); err != nil {
		return 0, fmt.Errorf("permissions %s are no number", f.Permissions)
	}
	return fs.FileMode(n), nil
}

// largestFile bounds what a compressed file may become.
const largestFile = 16 << 20

// Decoded returns the content without its encoding.
// Source: cloud-init, module write_files.
func (f *File) Decoded() ([]byte, error) {
	decode, unzip := false, false
	switch strings.ToLower(f.Encoding) {
	case "", "text/plain":
	case "gz", "gzip":
		unzip = true
	case "gz+base64", "gzip+base64", "gz+b64", "gzip+b64":
		decode, unzip = true, true
	case "b64", "base64":
		decode = true
	default:
		return nil, fmt.Errorf("there is no encoding %q", f.Encoding)
	}
	data := []byte(f.Content)
	if decode {
		var err error
		if data, err = base64.StdEncoding.DecodeString(strings.Join(strings.Fields(f.Content), "")); err != nil {
			return nil, fmt.Errorf("the content is not in %s: %w", f.Encoding, err)
		}
	}
	if !unzip {
		return data, nil
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("the content is not in %s: %w", f.Encoding, err)
	}
	out, err := io.ReadAll(io.LimitReader(r, largestFile+1))
	if err != nil || len(out) > largestFile {
		return nil, fmt.Errorf("the content is not in %s, or larger than %d bytes", f.Encoding, largestFile)
	}
	return out, nil
}

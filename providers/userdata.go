package providers

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/cloudconfig"
)

// UserData is what a machine boots with. It is plain text: the provider compresses and encodes
// it, and checks the limit of its cloud. Nova accepts 65535 bytes of base64, which are 49149
// bytes; EC2 accepts 16384 bytes.
//
// User data of a control plane contains its CA keys. With ECDSA keys it has about 5 kB, with
// RSA-2048 keys 13 kB (8 kB compressed), with RSA-4096 keys 23 kB (15 kB compressed), plus the
// user's files and commands.
type UserData struct {
	Format  string // "cloud-config", "ignition"
	Content fleet.Secret
}

// Fit returns the content in at most limit bytes. Larger content is compressed, which
// cloud-init supports and Ignition does not. If it does not fit, or neither of them can read it,
// the error has the kind Invalid. Equal user data gives equal bytes.
// Source: cloud-init, user data formats, "Gzip compressed content".
func (u UserData) Fit(limit int) ([]byte, error) {
	if u.Format != "cloud-config" && u.Format != "ignition" {
		return nil, fleet.Errorf(fleet.Invalid, "hand over the user data", "images read cloud-config and Ignition, and it is %q", u.Format)
	}
	content := u.Content.Reveal()
	if len(content) <= limit {
		return content, nil
	}
	size := fmt.Sprintf("%d bytes", len(content))
	if u.Format == "cloud-config" {
		var b bytes.Buffer
		z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
		if err != nil {
			return nil, err
		}
		if _, err := z.Write(content); err != nil {
			return nil, err
		}
		if err := z.Close(); err != nil {
			return nil, err
		}
		if b.Len() <= limit {
			return b.Bytes(), nil
		}
		size = fmt.Sprintf("%d bytes compressed", b.Len())
	}
	return nil, fleet.Errorf(fleet.Invalid, "hand over the user data",
		"it has %s and %d is the limit: move large files into the image, or let preKubeadmCommands fetch them; "+
			"encryptionAlgorithm ECDSA-P256 makes the certificates of a control plane smaller%s", size, limit, u.largest())
}

// largest names the largest files of the user data, for people; empty if unknown.
func (u UserData) largest() string {
	type file struct {
		path string
		size int
	}
	var files []file
	plain := u.Content.Reveal()
	if u.Format == "ignition" {
		var c struct {
			Storage struct {
				Files []struct {
					Path     string
					Contents struct{ Source string }
				}
			}
		}
		_ = json.Unmarshal(plain, &c) // what cannot be read has no files
		for _, f := range c.Storage.Files {
			files = append(files, file{f.Path, len(f.Contents.Source)})
		}
	} else {
		for _, f := range cloudconfig.Files(plain) {
			files = append(files, file{f.Path, len(f.Content)})
		}
	}
	slices.SortStableFunc(files, func(a, b file) int { return cmp.Compare(b.size, a.size) })
	var list []string
	for _, f := range files[:min(3, len(files))] {
		list = append(list, fmt.Sprintf("%s with %d", f.path, f.size))
	}
	if len(list) == 0 {
		return ""
	}
	return "; the largest files are " + strings.Join(list, ", ")
}

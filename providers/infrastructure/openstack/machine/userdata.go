package machine

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

// mostUserData is how many bytes of user data Nova takes, in base64.
// Source: Nova, api/openstack/compute/schemas/servers.py.
const mostUserData = 65535

// encode returns user data as Nova takes it. What is too large and is read by
// cloud-init, which unpacks it, is compressed.
func encode(u providers.UserData) ([]byte, error) {
	plain := u.Content.Reveal()
	if len(plain) == 0 {
		return nil, nil
	}
	if base64.StdEncoding.EncodedLen(len(plain)) <= mostUserData {
		return []byte(base64.StdEncoding.EncodeToString(plain)), nil
	}
	size := fmt.Sprintf("%d bytes", len(plain))
	if u.Format == "cloud-config" {
		packed := pack(plain)
		if base64.StdEncoding.EncodedLen(len(packed)) <= mostUserData {
			return []byte(base64.StdEncoding.EncodeToString(packed)), nil
		}
		size += fmt.Sprintf(", %d compressed", len(packed))
	}
	return nil, fleet.Errorf(fleet.Invalid, "give the server its user data",
		"it has %s and Nova takes %d%s (put large files into the image, or have them fetched)",
		size, base64.StdEncoding.DecodedLen(mostUserData), largest(plain, u.Format))
}

// pack compresses without a time, so that the same content gives the same bytes.
func pack(plain []byte) []byte {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return plain
	}
	if _, err := w.Write(plain); err != nil {
		return plain
	}
	if err := w.Close(); err != nil {
		return plain
	}
	return b.Bytes()
}

// largest names the files that fill user data.
func largest(plain []byte, format string) string {
	type file struct {
		path string
		size int
	}
	var files []file
	if format == "ignition" {
		var c struct {
			Storage struct {
				Files []struct {
					Path     string
					Contents struct{ Source string }
				}
			}
		}
		_ = json.Unmarshal(plain, &c)
		for _, f := range c.Storage.Files {
			files = append(files, file{f.Path, len(f.Contents.Source)})
		}
	} else {
		var c struct {
			Files []struct {
				Path    string `json:"path"`
				Content string `json:"content"`
			} `json:"write_files"`
		}
		_ = yaml.Unmarshal(plain, &c)
		for _, f := range c.Files {
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

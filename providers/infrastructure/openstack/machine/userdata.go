package machine

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/fleet/documents"
	"fairlead.dev/providers"
)

// mostUserData is how many bytes of user data Nova takes, in base64.
// Source: Nova, api/openstack/compute/schemas/servers.py.
const mostUserData = 65535

// encode returns user data as Nova takes it.
func encode(u providers.UserData) ([]byte, error) {
	if u.Content.IsZero() {
		return nil, nil
	}
	data, err := u.Fit(base64.StdEncoding.DecodedLen(mostUserData) / 3 * 3)
	if e, ok := errors.AsType[*fleet.Error](err); ok {
		return nil, &fleet.Error{Kind: e.Kind, Op: e.Op, Err: fmt.Errorf("%w%s", e.Err, largest(u))}
	}
	if err != nil {
		return nil, err
	}
	return []byte(base64.StdEncoding.EncodeToString(data)), nil
}

// largest names the files that fill user data.
func largest(u providers.UserData) string {
	plain := u.Content.Reveal()
	type file struct {
		path string
		size int
	}
	var files []file
	if u.Format == "ignition" {
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
		_ = documents.Unmarshal(plain, &c, documents.BuiltLimits())
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

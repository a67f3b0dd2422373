package endpoint

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/netip"
	"path"
	"slices"
	"strings"

	"fairlead.dev/fleet"
)

// announcers are programs that people have serve an endpoint, by their names in
// files and commands.
func announcers() []string { return []string{"kube-vip", "kubevip", "keepalived"} }

// A broughtFile is one of the files that people write for machines, as all distributions
// have them.
type broughtFile struct {
	Path        string `json:"path"`
	Content     string `json:"content"`
	Encoding    string `json:"encoding"`
	ContentFrom struct {
		Secret struct {
			Name string `json:"name"`
			Key  string `json:"key"`
		} `json:"secret"`
	} `json:"contentFrom"`
}

// Brought reports whether people have the servers of c serve the host e themselves: by a
// manifest of theirs that names it, or by a file or a command that is about a program which
// does that.
func Brought(c *fleet.Cluster, e fleet.Endpoint) bool {
	var spec struct {
		Files []broughtFile `json:"files"`
	}
	if e.Host == "" || json.Unmarshal(c.ControlPlane.Bootstrap.Spec, &spec) != nil {
		return false
	}
	for _, f := range spec.Files {
		if mentionsAnnouncer(f.Path) || isManifest(f.Path) && hasWord(f.text(c), e.Host) {
			return true
		}
	}
	return slices.ContainsFunc(commands(c.ControlPlane.Bootstrap.Spec), mentionsAnnouncer)
}

// mentionsAnnouncer reports whether text contains the name of a program that serves endpoints.
func mentionsAnnouncer(text string) bool {
	return slices.ContainsFunc(announcers(), func(name string) bool { return strings.Contains(text, name) })
}

// isManifest reports whether a file is one that a kubelet, or a server of K3s and RKE2, runs.
func isManifest(file string) bool {
	switch path.Base(path.Dir(file)) {
	case "manifests", "pod-manifests":
		return true
	}
	return false
}

// commands returns what servers are to run, whatever the distribution calls the fields.
func commands(spec json.RawMessage) []string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(spec, &fields) != nil {
		return nil
	}
	var out []string
	for name, raw := range fields {
		var list []string
		if strings.HasSuffix(name, "Commands") && json.Unmarshal(raw, &list) == nil {
			out = append(out, list...)
		}
	}
	return out
}

// maxText bounds what a compressed file is read to.
const maxText = 1 << 20

// text returns what the machine has in the file, as far as that can be known.
func (f broughtFile) text(c *fleet.Cluster) string {
	data := []byte(f.Content)
	if s := f.ContentFrom.Secret; s.Name != "" {
		data = c.Secrets[s.Name][s.Key].Reveal()
	}
	if strings.Contains(f.Encoding, "base64") {
		if plain, err := base64.StdEncoding.DecodeString(string(bytes.TrimSpace(data))); err == nil {
			data = plain
		}
	}
	if strings.Contains(f.Encoding, "gzip") {
		if z, err := gzip.NewReader(bytes.NewReader(data)); err == nil {
			if plain, err := io.ReadAll(io.LimitReader(z, maxText)); err == nil {
				data = plain
			}
		}
	}
	return string(data)
}

// hasWord reports whether text contains host as a separate word.
func hasWord(text, host string) bool {
	if a, err := netip.ParseAddr(host); err == nil {
		host = a.String()
	}
	return slices.Contains(strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\r\n\"'=,[]{}/", r) }), host)
}

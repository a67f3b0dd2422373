package rancher

import (
	"encoding/base64"
	"fmt"
	"strings"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/distribution/cloudinit"
)

// UserFiles returns the files that people ask for, with the values of Secrets filled in.
func UserFiles(in providers.BootstrapInput, files []File) ([]cloudinit.File, error) {
	var out []cloudinit.File
	for i, f := range files {
		content := []byte(f.Content)
		if f.Secret != "" {
			s, ok := in.Cluster.Secrets[f.Secret][f.Key]
			if !ok {
				return nil, at(i, f, fmt.Errorf("there is no key %s in a Secret %s of the overlay", f.Key, f.Secret))
			}
			content = s.Reveal()
		}
		file := cloudinit.File{
			Path: cloudinit.Text(f.Path), Owner: cloudinit.Text(f.Owner), Permissions: cloudinit.Text(f.Permissions),
			Encoding: cloudinit.Text(f.Encoding), Content: cloudinit.Text(content), Append: f.Append,
		}
		if err := cloudinit.CheckEncoding(f.Encoding, content); err != nil {
			return nil, at(i, f, err)
		}
		switch valid := utf8.Valid(content); {
		case f.Encoding == "gzip", f.Encoding == "" && !valid: // YAML holds no bytes that are not text
			file.Encoding = cloudinit.Text(strings.TrimPrefix(f.Encoding+"+base64", "+"))
			file.Content = cloudinit.Text(base64.StdEncoding.EncodeToString(content))
		case !valid:
			return nil, at(i, f, fleet.FieldErrorf("encoding", "the content is not in %s", f.Encoding))
		default:
			if err := cloudinit.CheckJinja(string(content)); err != nil {
				return nil, at(i, f, err)
			}
		}
		out = append(out, file)
	}
	return out, nil
}

// at returns err as an error of the file f, the one at i.
func at(i int, f File, err error) error {
	return &fleet.FieldError{Field: fmt.Sprintf("files[%d]", i), Item: f.Path, Err: err}
}

// ParseLabels reads "key=value".
func ParseLabels(list []string) map[string]string {
	out := make(map[string]string)
	for _, text := range list {
		if key, value, ok := strings.Cut(text, "="); ok {
			out[key] = value
		}
	}
	return out
}

// ParseTaints reads "key=value:effect" and "key:effect".
func ParseTaints(list []string) []corev1.Taint {
	var out []corev1.Taint
	for _, text := range list {
		i := strings.LastIndex(text, ":")
		if i < 0 {
			continue
		}
		key, value, _ := strings.Cut(text[:i], "=")
		out = append(out, corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(text[i+1:])})
	}
	return out
}

package cli

import (
	"bytes"
	"net/url"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"fairlead.dev/agent/wiring"
	"fairlead.dev/fleet/documents"
	"fairlead.dev/render"
)

// redacted returns the URL of a source without a password or token. Over HTTP a user
// without a password may be a token, and a query may have one. An address without a scheme
// may be user:password@host:path.
func redacted(source string) string {
	user, rest, _ := strings.Cut(source, "@")
	if name, _, both := strings.Cut(user, ":"); both && rest != "" && !strings.ContainsAny(user, `/\`) {
		return name + ":xxxxx@" + rest
	}
	u, err := url.Parse(source)
	switch {
	case err != nil:
		return wiring.WithoutUser(source)
	case u.User == nil && u.RawQuery == "":
		return source
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return u.Redacted()
	}
	if _, both := u.User.Password(); !both && u.User != nil {
		u.User = url.User("xxxxx")
	}
	if u.RawQuery != "" {
		u.RawQuery = "xxxxx"
	}
	return u.Redacted()
}

// redactSecrets returns objects without the values of Secrets, and without what depends on
// decrypted values, as generated ConfigMaps and replacements may. Alike are the same objects,
// rendered as if each decrypted value were REDACTED.
func redactSecrets(objects, alike []render.Object) ([]render.Object, error) {
	if len(objects) != len(alike) {
		objects = alike
	}
	out := make([]render.Object, len(objects))
	for i, o := range objects {
		out[i] = o
		doc, err := documents.Node(o.YAML, documents.BuiltLimits())
		if err != nil || doc == nil || len(doc.Content) == 0 {
			continue // no object, so no Secret
		}
		known, err := documents.Node(alike[i].YAML, documents.BuiltLimits())
		if err != nil || known == nil || len(known.Content) == 0 {
			out[i] = alike[i]
			continue
		}
		root := doc.Content[0]
		if kind := valueOf(root, "kind"); kind != nil && kind.Value == "Secret" {
			for _, field := range []string{"data", "stringData"} {
				if values := valueOf(root, field); values != nil {
					redactValues(values)
				}
			}
		} else if bytes.Equal(o.YAML, alike[i].YAML) {
			continue
		}
		if !sameObject(root, known.Content[0]) {
			root = known.Content[0]
		}
		redactDecrypted(root, known.Content[0])
		data, err := documents.Marshal([]*yaml.Node{root})
		if err != nil {
			return nil, err
		}
		out[i].YAML = data
	}
	return out, nil
}

// sameObject reports whether two objects have one kind and one name, but for the hash that kustomize adds to it.
func sameObject(a, b *yaml.Node) bool {
	name := func(n *yaml.Node) (kind, name string) {
		if k := valueOf(n, "kind"); k != nil {
			kind = k.Value
		}
		if m := valueOf(n, "metadata"); m != nil && valueOf(m, "name") != nil {
			name = valueOf(m, "name").Value
		}
		return kind, name
	}
	kindA, nameA := name(a)
	kindB, nameB := name(b)
	baseA, baseB := nameA[:strings.LastIndex(nameA, "-")+1], nameB[:strings.LastIndex(nameB, "-")+1]
	return kindA == kindB && (nameA == nameB || baseA != "" && baseA == baseB)
}

// redactDecrypted replaces each value of n that is made of REDACTED in known. Other values may differ
// by a hash only.
func redactDecrypted(n, known *yaml.Node) {
	switch {
	case n.Kind != known.Kind || len(n.Content) != len(known.Content):
		*n = *known
	case n.Kind == yaml.ScalarNode && n.Value != known.Value && strings.Contains(known.Value, "REDACTED"):
		*n = *known
	}
	for i := range n.Content {
		redactDecrypted(n.Content[i], known.Content[i])
	}
}

// redactValues replaces every value below n.
func redactValues(n *yaml.Node) {
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			continue // it is a key
		}
		if c.Kind == yaml.ScalarNode {
			n.Content[i] = &yaml.Node{Kind: yaml.ScalarNode, Value: "REDACTED"}
			continue
		}
		redactValues(c)
	}
}

// valueOf returns the value of a key of the mapping n, or nil.
func valueOf(n *yaml.Node, key string) *yaml.Node {
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

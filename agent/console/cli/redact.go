package cli

import (
	"net/url"
	"strings"

	yaml "go.yaml.in/yaml/v3"

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
	if err != nil || u.User == nil && u.RawQuery == "" {
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

// redactSecrets returns objects without the values of Secrets.
func redactSecrets(objects []render.Object) ([]render.Object, error) {
	out := make([]render.Object, len(objects))
	for i, o := range objects {
		out[i] = o
		doc, err := documents.Node(o.YAML, documents.BuiltLimits())
		if err != nil || doc == nil || len(doc.Content) == 0 {
			continue // no object, so no Secret
		}
		root := doc.Content[0]
		if kind := valueOf(root, "kind"); kind == nil || kind.Value != "Secret" {
			continue
		}
		for _, field := range []string{"data", "stringData"} {
			if values := valueOf(root, field); values != nil {
				redactValues(values)
			}
		}
		data, err := documents.Marshal([]*yaml.Node{root})
		if err != nil {
			return nil, err
		}
		out[i].YAML = data
	}
	return out, nil
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

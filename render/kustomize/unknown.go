package kustomize

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	yaml "go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/types"

	"fairlead.dev/fleet/documents"
)

// unknownField matches the error of encoding/json for a field that a struct does not have.
var unknownField = regexp.MustCompile(`^json: unknown field "(.*)"$`)

// undecodable returns the refusal of the kustomization n, which err says cannot be decoded.
func undecodable(at place, n *yaml.Node, err error) error {
	text := strings.TrimPrefix(err.Error(), "invalid Kustomization: ")
	m := unknownField.FindStringSubmatch(text)
	if m == nil {
		return at.refuse("see the kustomization reference for its fields", "%s", strings.TrimPrefix(text, "json: "))
	}
	hint := "see the kustomization reference for its fields"
	if name := documents.NearestField(m[1], reflect.TypeFor[types.Kustomization]()); name != "" {
		hint = fmt.Sprintf("did you mean %q?", name)
	}
	return at.at("%s", pathOf(n, m[1])).refuse(hint, "unknown field %q", m[1])
}

// pathOf returns the path of the first key called name at or below n, or name if there is
// none.
func pathOf(n *yaml.Node, name string) string {
	found := errors.New("found")
	path := name
	var walk func(n *yaml.Node, at string) error
	walk = func(n *yaml.Node, at string) error {
		for i, c := range n.Content {
			below := fmt.Sprintf("%s[%d]", at, i)
			if n.Kind == yaml.MappingNode {
				if i%2 == 0 {
					continue
				}
				below = strings.TrimPrefix(at+"."+n.Content[i-1].Value, ".")
				if n.Content[i-1].Value == name {
					path = below
					return found
				}
			}
			if err := walk(c, below); err != nil {
				return err
			}
		}
		return nil
	}
	_ = walk(n, "")
	return path
}

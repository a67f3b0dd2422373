package api

import (
	"fmt"
	"strings"
	"text/template"
	"text/template/parse"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/fleet"
)

// maxName is how long the name of a virtual machine may be: it is a label of its Node.
const maxName = validation.DNS1123LabelMaxLength

// VMName returns what the virtual machine of the machine m is called, by the template of
// names of its spec: the name of the machine where there is none. Cluster API cuts names that
// are too long; here they give the kind Invalid, since two machines could be called the same.
// Source: CAPV, pkg/util/template.go.
func VMName(s *VSphereMachineSpec, m fleet.MachineName) (string, error) {
	if s.Naming.Template == "" {
		return string(m), nil
	}
	out, err := name(s.Naming.Template, string(m))
	if err != nil {
		return "", fleet.Errorf(fleet.Invalid, "name the virtual machine of "+string(m), "naming.template: %w", err)
	}
	return out, nil
}

// name fills in a template of names.
func name(text, machine string) (string, error) {
	t, err := template.New("name").Option("missingkey=error").Funcs(template.FuncMap{
		"trimSuffix": func(suffix, s string) string { return strings.TrimSuffix(s, suffix) },
		"trunc":      trunc,
	}).Parse(text)
	if err != nil {
		return "", fmt.Errorf("cannot be read: %w", err)
	}
	if !plain(t.Root) {
		return "", fmt.Errorf("may hold {{ .machine.name }}, trimSuffix and trunc alone")
	}
	var b strings.Builder
	if err := t.Execute(&b, map[string]any{"machine": map[string]any{"name": machine}}); err != nil {
		return "", fmt.Errorf("cannot be filled in: %w", err)
	}
	out := b.String()
	if len(out) > maxName {
		return "", fmt.Errorf("makes the name %s, of more than %d characters", out, maxName)
	}
	if problems := validation.IsDNS1123Subdomain(out); len(problems) > 0 {
		return "", fmt.Errorf("makes the name %q, which is not valid: %s", out, strings.Join(problems, "; "))
	}
	return out, nil
}

// plain reports whether a template only puts out text and values: nothing in it repeats.
func plain(n parse.Node) bool {
	switch n := n.(type) {
	case *parse.ListNode:
		for _, e := range n.Nodes {
			if !plain(e) {
				return false
			}
		}
		return true
	case *parse.TextNode, *parse.ActionNode, *parse.CommentNode:
		return true
	}
	return false
}

// trunc returns the first n characters of s, or the last where n is negative.
func trunc(n int, s string) string {
	switch {
	case n < 0 && len(s)+n > 0:
		return s[len(s)+n:]
	case n >= 0 && len(s) > n:
		return s[:n]
	}
	return s
}

// naming checks a template of names with two machines of one pool, whose names differ in the
// last characters.
func (v *validator) naming(at *field.Path, text string) {
	if text == "" {
		return
	}
	a, err := name(text, "cluster-pool-8xkqz-aaaaa")
	if err != nil {
		v.Invalid(at, text, err.Error())
		return
	}
	if b, err := name(text, "cluster-pool-8xkqz-bbbbb"); err != nil || a == b {
		v.Invalid(at, text, "two machines of a pool would have one name: let the end of {{ .machine.name }} stand in it")
	}
}

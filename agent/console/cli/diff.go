package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fairlead.dev/agent/console/output"
	"fairlead.dev/agent/wiring"
	"fairlead.dev/fleet/documents"
	"fairlead.dev/render"
	"fairlead.dev/sources/git"
)

// A fieldChange is a field of an object that differs between two revisions.
type fieldChange struct {
	Object string `json:"object"`          // kind namespace/name
	Field  string `json:"field,omitempty"` // empty: all of it
	Before any    `json:"before,omitempty"`
	After  any    `json:"after,omitempty"`
}

func newDiff(built wiring.Built) *cobra.Command {
	cmd := &cobra.Command{
		Use: "diff REVISION REVISION", GroupID: groupWrite, Short: "Compare rendered manifests of two revisions",
		Long: `Compare rendered manifests of two revisions, field by field: the effect of a change of
a base or a value on each cluster. Values of Secrets are hidden. In a clone, a revision
can be an expression such as HEAD~1 and need not be pushed. To see the effect on
machines, use 'fairlead plan'.

The exit code is 0 if there is no difference, 2 if there is one, and 1 if a revision
cannot be rendered.`,
		Example: `  fairlead diff main feature
  fairlead diff HEAD~1 HEAD`,
		Args: args(cobra.ExactArgs(2)),
	}
	form := outputFlag(cmd, output.FormatTable, output.FormatJSON, output.FormatYAML, output.FormatMarkdown, output.FormatJSONPath)
	f := addSource(cmd, built)
	f.addRender(cmd)
	f.addFolders(cmd)
	v := addValues(cmd)
	cmd.RunE = func(cmd *cobra.Command, argv []string) error {
		p, err := f.here(cmd.Context(), nil)
		if err != nil {
			return err
		}
		if wiring.IsFolder(p.settings.Source) {
			return &usageError{errors.New("a folder has no revisions: set --source to a repository, or change to a clone")}
		}
		var sides [2]map[string]any
		for i, rev := range argv {
			if sides[i], err = p.objectsAt(cmd.Context(), rev, v); err != nil {
				return fmt.Errorf("revision %s: %w", rev, err)
			}
		}
		changes := differences(sides[0], sides[1])
		if err := showDiff(cmd.OutOrStdout(), output.Format(*form), changes); err != nil {
			return err
		}
		if len(changes) > 0 {
			return &exitError{exitChanges}
		}
		return nil
	}
	return cmd
}

// objectsAt returns the rendered objects of p at the revision called rev. In a clone of p's
// repository it is what rev means there, and it is read from the clone, pushed or not.
func (p selection) objectsAt(ctx context.Context, rev string, v *valueFlags) (map[string]any, error) {
	p.settings.Ref, p.source = rev, nil
	folder, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	clone := cloneOf(folder)
	if clone == "" || originOf(ctx, clone) != p.settings.Source {
		return p.objects(ctx, v)
	}
	commit, err := git.WorkingTree(clone).Commit(ctx, rev)
	if err != nil { // a branch or tag that was not fetched
		return p.objects(ctx, v)
	}
	p.settings.Ref = commit
	shared, err := os.MkdirTemp("", "fairlead-diff-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(shared) }()
	if git.WorkingTree(clone).Share(ctx, shared, commit) == nil {
		p.settings.Source, p.settings.Ref = "file://"+filepath.ToSlash(shared), "main"
	}
	return p.objects(ctx, v)
}

// objects returns the rendered objects of p by kind, namespace and name.
func (p selection) objects(ctx context.Context, v *valueFlags) (map[string]any, error) {
	_, tree, err := p.open(ctx)
	if err != nil {
		return nil, err
	}
	list, problems, err := p.rendered(ctx, tree, v, false)
	if c, ok := errors.AsType[*render.ConfigError](err); ok {
		problems, err = c.Problems, nil
	}
	if err == nil && len(problems) > 0 {
		err = errors.New(problems[0].String())
	}
	if err != nil {
		return nil, err
	}
	out := make(map[string]any, len(list))
	for _, o := range list {
		j, err := documents.ToJSON(o.YAML, documents.BuiltLimits())
		if err != nil {
			return nil, err
		}
		var head struct {
			Kind     string `json:"kind"`
			Metadata struct{ Namespace, Name string }
		}
		var object any
		if err := errors.Join(json.Unmarshal(j, &head), json.Unmarshal(j, &object)); err != nil {
			return nil, err
		}
		name := head.Metadata.Name
		if head.Metadata.Namespace != "" {
			name = head.Metadata.Namespace + "/" + name
		}
		out[head.Kind+" "+name] = object
	}
	return out, nil
}

// differences returns the fields that differ, sorted by object and field. An object that one
// side alone has is one difference.
func differences(before, after map[string]any) []fieldChange {
	all := maps.Clone(before)
	maps.Copy(all, after)
	out := []fieldChange{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		was, had := before[name]
		is, has := after[name]
		switch {
		case !had:
			out = append(out, fieldChange{Object: name, After: "added"})
		case !has:
			out = append(out, fieldChange{Object: name, Before: "removed"})
		default:
			out = walk(out, name, "", was, is)
		}
	}
	return out
}

// walk appends where was and is differ below field.
func walk(out []fieldChange, object, field string, was, is any) []fieldChange {
	a, first := was.(map[string]any)
	b, second := is.(map[string]any)
	if first && second {
		keys := maps.Clone(a)
		maps.Copy(keys, b)
		for _, k := range slices.Sorted(maps.Keys(keys)) {
			out = walk(out, object, strings.TrimPrefix(field+"."+k, "."), a[k], b[k])
		}
		return out
	}
	x, first := was.([]any)
	y, second := is.([]any)
	if first && second && len(x) == len(y) {
		for i := range x {
			out = walk(out, object, fmt.Sprintf("%s[%d]", field, i), x[i], y[i])
		}
		return out
	}
	if !reflect.DeepEqual(was, is) {
		out = append(out, fieldChange{Object: object, Field: field, Before: was, After: is})
	}
	return out
}

func showDiff(w io.Writer, form output.Format, changes []fieldChange) error {
	t := output.Table{Header: []string{"OBJECT", "FIELD", "BEFORE", "AFTER"}, Fit: true}
	for _, c := range changes {
		t.Add(c.Object, c.Field, valueText(c.Before), valueText(c.After))
	}
	if t.Empty() && form == output.FormatTable {
		_, err := fmt.Fprintln(w, "no differences")
		return err
	}
	return t.Write(w, form, changes)
}

// valueText is v on a line.
func valueText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

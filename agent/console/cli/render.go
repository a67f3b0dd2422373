package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"fairlead.dev/agent/console/output"
	"fairlead.dev/agent/plans/scope"
	"fairlead.dev/agent/wiring"
	"fairlead.dev/fleet"
	"fairlead.dev/fleet/documents"
	"fairlead.dev/render"
	"fairlead.dev/sources"
)

func newRender(built wiring.Built) *cobra.Command {
	var show bool
	cmd := &cobra.Command{
		Use:     "render [PATH|URL]",
		GroupID: groupWrite,
		Short:   "Print rendered manifests",
		Long: `Print rendered manifests: the output of kustomize with variables substituted. Values of
Secrets, and what was decrypted, are REDACTED, unless --show-secrets is set.

PATH is a fleet, a kustomization folder or a file. If something cannot be rendered, the
rest is printed and the exit code is 1.`,
		Example: `  fairlead render clusters/prod/eu-1
  fairlead render template.yaml --set CLUSTER_NAME=eu-1
  fairlead render template.yaml --allow-unset
  fairlead render https://git.example.com/fleet.git --path clusters/prod`,
		Args: args(cobra.MaximumNArgs(1)),
	}
	form := outputFlag(cmd, output.FormatYAML, output.FormatJSON)
	f := addSource(cmd, built)
	f.addRender(cmd)
	f.addFolders(cmd)
	v := addValues(cmd)
	partOfFleet(cmd)
	cmd.Flags().BoolVar(&show, "show-secrets", false, "show the values of Secrets")
	confirms(cmd, "show-secrets")
	cmd.RunE = func(cmd *cobra.Command, argv []string) error {
		p, err := f.located(cmd, argv)
		if err != nil {
			return err
		}
		_, tree, err := p.open(cmd.Context())
		if err != nil {
			return err
		}
		objects, problems, err := p.rendered(cmd.Context(), tree, v, show)
		if c, ok := errors.AsType[*render.ConfigError](err); ok {
			problems, err = c.Problems, nil
		}
		if err != nil {
			return err
		}
		switch {
		case len(objects)+len(problems) > 0:
		case p.scope == scope.All:
			return p.empty()
		default:
			return fmt.Errorf("%s cannot be rendered alone: use the folder of the kustomization that includes it", p.scope)
		}
		if err := showObjects(cmd, output.Format(*form), objects); err != nil {
			return err
		}
		for _, q := range problems {
			fmt.Fprintln(cmd.ErrOrStderr(), q)
		}
		if len(problems) > 0 {
			return &exitError{exitFailure}
		}
		return nil
	}
	return cmd
}

// rendered returns the objects of p in tree, without what is secret unless it is to be shown.
func (p selection) rendered(ctx context.Context, tree sources.Tree, v *valueFlags, show bool) ([]render.Object, []fleet.Problem, error) {
	options := v.options()
	renderer, err := p.settings.NewRenderer(options)
	if err != nil {
		return nil, nil, err
	}
	objects, problems, err := renderer.Objects(ctx, tree, string(p.scope))
	if err != nil || show {
		return objects, problems, err
	}
	options.Redact = true
	if renderer, err = p.settings.NewRenderer(options); err != nil {
		return nil, nil, err
	}
	alike, _, err := renderer.Objects(ctx, tree, string(p.scope))
	if err != nil {
		return nil, nil, err
	}
	objects, err = redactSecrets(objects, alike)
	return objects, problems, err
}

func showObjects(cmd *cobra.Command, form output.Format, objects []render.Object) error {
	out := output.Exact(cmd.OutOrStdout())
	if form == output.FormatYAML {
		for i, o := range objects {
			if i > 0 {
				fmt.Fprintln(out, "---")
			}
			fmt.Fprintf(out, "%s\n", bytes.TrimSpace(o.YAML))
		}
		return nil
	}
	items := make([]json.RawMessage, 0, len(objects))
	for _, o := range objects {
		j, err := documents.ToJSON(o.YAML, documents.BuiltLimits())
		if err != nil {
			return err
		}
		items = append(items, j)
	}
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
}

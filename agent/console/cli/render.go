package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"fairlead.dev/agent/console/output"
	"fairlead.dev/agent/plans/scope"
	"fairlead.dev/agent/wiring"
	"fairlead.dev/fleet/documents"
	"fairlead.dev/render"
)

func newRender(built wiring.Built) *cobra.Command {
	var show bool
	cmd := &cobra.Command{
		Use:     "render [PATH|URL]",
		GroupID: groupWrite,
		Short:   "Print rendered manifests",
		Long: `Print rendered manifests: the output of kustomize with variables substituted. Values of
Secrets are REDACTED, unless --show-secrets is set.

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
		renderer, err := p.settings.NewRenderer(v.options())
		if err != nil {
			return err
		}
		objects, problems, err := renderer.Objects(cmd.Context(), tree, string(p.scope))
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
		if !show {
			if objects, err = redactSecrets(objects); err != nil {
				return err
			}
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

package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"fairlead.dev/agent/console/output"
)

// A versionView is the version as JSON and YAML show it.
type versionView struct {
	Version  string `json:"version"`
	Go       string `json:"goVersion"`
	Platform string `json:"platform"`
}

func newVersion(version string) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  args(cobra.NoArgs),
	}
	form := outputFlag(cmd, output.FormatTable, output.FormatJSON, output.FormatYAML, output.FormatJSONPath)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		v := versionView{version, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
		if f := output.Format(*form); f != output.FormatTable {
			return (&output.Table{}).Write(cmd.OutOrStdout(), f, v)
		}
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "fairlead %s %s %s\n", v.Version, v.Go, v.Platform)
		return err
	}
	return cmd
}

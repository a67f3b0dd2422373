package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"fairlead.dev/agent/console/output"
	"fairlead.dev/agent/console/statusview"
	"fairlead.dev/agent/wiring"
	"fairlead.dev/fleet"
)

func newHosts(built wiring.Built) *cobra.Command {
	var selector, facts string
	cmd := &cobra.Command{
		Use:     "hosts [NAMESPACE/NAME]",
		GroupID: groupLook,
		Short:   "List bare-metal hosts and their state",
		Long: `List bare-metal hosts of inventories in Git and their state, from the status branch. -o json and
-o yaml include the results of inspection.

--selector selects by labels in Git, --hardware by results of inspection, with the keys
that -o json shows under hardware.`,
		Example: `  fairlead hosts --source https://git.example.com/fleet.git
  fairlead hosts metal/rack1-03 --source ./fleet -o yaml
  fairlead hosts --source ./fleet --selector rack=r1 --hardware cpu.arch=x86_64`,
		Args: args(cobra.MaximumNArgs(1)),
	}
	form := outputFlag(cmd, output.FormatTable, output.FormatJSON, output.FormatYAML, output.FormatMarkdown)
	f := addSource(cmd, built)
	f.addStatus(cmd)
	cmd.Flags().StringVarP(&selector, "selector", "l", "", "label selector for hosts, as in kubectl")
	cmd.Flags().StringVar(&facts, "hardware", "", "selector for results of inspection")
	settings(cmd, "selector", "hardware")
	cmd.RunE = func(cmd *cobra.Command, argv []string) error {
		wanted, err := hostFilter(argv, selector, facts)
		if err != nil {
			return &usageError{err}
		}
		p, branch, err := f.find(cmd, nil)
		if err != nil {
			return err
		}
		s, err := p.status(cmd.Context(), branch)
		if err != nil {
			return err
		}
		if s.Owner.Agent == "" {
			if err := p.checkFollowed(cmd.Context(), branch); err != nil {
				return fmt.Errorf("no status found: %w", err)
			}
		}
		var list []fleet.Host
		for i := range s.Hosts {
			if wanted(&s.Hosts[i]) {
				list = append(list, s.Hosts[i])
			}
		}
		if len(argv) == 1 && len(list) == 0 {
			return errors.Join(append(s.DamagedHosts, fmt.Errorf("host %q not found", argv[0]))...)
		}
		return errors.Join(append(s.DamagedHosts, showHosts(cmd.OutOrStdout(), output.Format(*form), list))...)
	}
	return cmd
}

// hostFilter returns which hosts are asked for.
func hostFilter(argv []string, selector, facts string) (func(*fleet.Host) bool, error) {
	var name fleet.Key
	if len(argv) == 1 {
		var err error
		if name, err = fleet.ParseKey(argv[0]); err != nil {
			return nil, err
		}
	}
	by, err := labels.Parse(selector)
	if err != nil {
		return nil, fmt.Errorf("--selector: %w", err)
	}
	having, err := labels.Parse(facts)
	if err != nil {
		return nil, fmt.Errorf("--hardware: %w", err)
	}
	return func(h *fleet.Host) bool {
		return (name == fleet.Key{} || h.Key() == name) && by.Matches(labels.Set(h.Labels)) && having.Matches(labels.Set(h.Hardware.Facts()))
	}, nil
}

func showHosts(w io.Writer, form output.Format, list []fleet.Host) error {
	view := statusview.HostsOf(list)
	t := output.Table{Header: []string{"HOST", "STATE", "POWER", "CONSUMER", "HARDWARE", "MESSAGE"}, Style: hostStyle}
	for _, h := range view {
		t.Add(h.Name, h.State, h.Power, h.Consumer, h.Summary(), strings.ReplaceAll(h.Message(), "\n", "; "))
	}
	if form != output.FormatTable {
		return t.Write(w, form, view)
	}
	if len(view) == 0 {
		_, err := fmt.Fprintln(w, "no hosts found")
		return err
	}
	return t.Text(w)
}

// hostStyle colours a row by the state of its host.
func hostStyle(row []string) lipgloss.Style {
	colours := map[string]string{
		string(fleet.HostAvailable): "2", string(fleet.HostProvisioned): "2", string(fleet.HostExternallyProvisioned): "2", string(fleet.HostDeprovisioning): "1",
	}
	st := lipgloss.NewStyle()
	if c, ok := colours[row[1]]; ok {
		return st.Foreground(lipgloss.Color(c))
	}
	return st.Foreground(lipgloss.Color("4"))
}

package cli

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"fairlead.dev/agent/console/output"
	"fairlead.dev/agent/secrets"
	"fairlead.dev/agent/secrets/escrow"
	"fairlead.dev/agent/wiring"
	"fairlead.dev/fleet"
)

func newEscrow(built wiring.Built) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "escrow",
		Short: "Manage the encrypted backup of all secrets",
		Long: `Manage the encrypted backup of all secrets that the agent keeps in the location of
spec.escrow in fleet.yaml. See docs/operations/disaster-recovery.md.`,
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newEscrowVerify(built), newEscrowRestore(built))
	return cmd
}

// escrowFlags say where an escrow is, instead of fleet.yaml, and who can decrypt it.
type escrowFlags struct {
	*sourceFlags
	location fleet.Escrow
	identity string
}

func addEscrow(cmd *cobra.Command, built wiring.Built) *escrowFlags {
	f := &escrowFlags{sourceFlags: addSource(cmd, built)}
	fs := cmd.Flags()
	fs.StringVar(&f.settings.StatusRepository, "status-repository", "", "repository of the status branch (default: the source)")
	fs.StringArrayVar(&f.settings.RequestKeys, "request-keys", nil, "public keys, as for the agent. One of them must have signed the newest commit of the escrow; may be repeated")
	addEscrowLocation(cmd, &f.location)
	fs.StringVar(&f.identity, "identity-file", "", "file with an age identity that decrypts the escrow")
	return f
}

// addEscrowLocation adds the flags that say where an escrow is.
func addEscrowLocation(cmd *cobra.Command, location *fleet.Escrow) {
	cmd.Flags().StringVar(&location.Folder, "escrow-folder", "", "folder of the escrow (default: from fleet.yaml)")
	cmd.Flags().StringVar(&location.Branch, "escrow-branch", "", "branch of the escrow in the status repository (default: from fleet.yaml)")
}

func checkOneLocation(location fleet.Escrow) error {
	if location.Folder != "" && location.Branch != "" {
		return &usageError{errors.New("--escrow-folder and --escrow-branch are both set: use one of them")}
	}
	return nil
}

// open opens the escrow, and checks all of it.
func (f *escrowFlags) open(cmd *cobra.Command) (*escrow.Escrow, error) {
	if err := checkOneLocation(f.location); err != nil {
		return nil, err
	}
	if f.location.Folder == "" && f.location.Branch == "" { // fleet.yaml names it
		if err := f.checkHere(nil); err != nil {
			return nil, err
		}
	}
	e, signed, err := openEscrow(cmd, f.from(nil, quiet(cmd.ErrOrStderr())), f.location, f.identity)
	if err == nil && !signed && len(f.settings.RequestKeys) > 0 {
		return nil, errors.New("the escrow is in a folder, which has no signed commits: omit --request-keys if you trust the folder")
	}
	return e, err
}

// openEscrow opens the escrow at location, or the one that fleet.yaml names. It decrypts
// with the identities in identityFile, if that is given. It warns where no signature is
// required.
func openEscrow(cmd *cobra.Command, s wiring.Settings, location fleet.Escrow, identityFile string) (e *escrow.Escrow, signed bool, err error) {
	if location.Folder == "" && location.Branch == "" {
		if location, err = s.EscrowOf(cmd.Context()); err != nil {
			return nil, false, err
		}
		if len(location.Recipients) == 0 {
			return nil, false, errors.New("fleet.yaml has no spec.escrow: set --escrow-folder or --escrow-branch")
		}
	}
	var identity fleet.Secret
	if identityFile != "" {
		if identity, err = secrets.ReadIdentityFile(identityFile); err != nil {
			return nil, false, err
		}
	}
	p, signed, err := s.OpenSignedEscrow(location)
	switch {
	case err != nil:
		return nil, false, err
	case !signed && location.Folder != "":
		fmt.Fprintf(cmd.ErrOrStderr(), "signatures of the escrow in %s are not checked: a folder has none\n", p)
	case !signed:
		fmt.Fprintf(cmd.ErrOrStderr(), "signatures of the escrow in %s are not checked: set --request-keys to check them\n", p)
	}
	e, err = escrow.Open(cmd.Context(), p, identity)
	return e, signed, err
}

func newEscrowVerify(built wiring.Built) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Verify the backup",
		Long: `Verify the backup. With --identity-file all files are decrypted and compared. Without it,
files are only compared with the index. The exit code is 1 if something cannot be
restored.`,
		Example: `  fairlead secrets escrow verify --source https://git.example.com/fleet.git --identity-file escrow.txt`,
		Args:    args(cobra.NoArgs),
	}
	form := outputFlag(cmd, output.FormatTable, output.FormatJSON, output.FormatYAML, output.FormatMarkdown)
	f := addEscrow(cmd, built)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		e, err := f.open(cmd)
		if err != nil {
			return err
		}
		good := "intact"
		if f.identity != "" {
			good = "can be restored"
		}
		t, rows := output.Table{Header: []string{"ENTRY", "HOLDS", "GONE SINCE", "STATE"}}, []escrowRow{}
		for _, entry := range e.Entries {
			row := escrowRow{Entry: entry.Name, Gone: entry.Gone, State: cmp.Or(entry.Problem, good)}
			for _, name := range entry.Holds {
				row.Holds = append(row.Holds, string(name))
			}
			rows = append(rows, row)
			t.Add(row.Entry, strings.Join(row.Holds, " "), row.Gone, row.State)
		}
		if err := t.Write(cmd.OutOrStdout(), output.Format(*form), rows); err != nil {
			return err
		}
		if problems := e.Problems(); len(problems) > 0 {
			return fmt.Errorf("%d of %d entries of the escrow cannot be restored", len(problems), len(e.Entries))
		}
		return nil
	}
	return cmd
}

// escrowRow is one printed entry.
type escrowRow struct {
	Entry string   `json:"entry"`
	Holds []string `json:"holds,omitempty"`
	Gone  string   `json:"gone,omitempty"`
	State string   `json:"state"`
}

func newEscrowRestore(built wiring.Built) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "restore",
		Short: "Restore secrets from the backup",
		Long: `Restore secrets from the backup into the secret store of --secrets. Equal Secrets are
kept; a different Secret is an error. Every restored Secret is read back and compared.
The command can be repeated. Encryption does not prove who wrote the backup: set
--request-keys to verify signatures.`,
		Example: `  fairlead secrets escrow restore --source https://git.example.com/fleet.git --identity-file escrow.txt
  fairlead secrets escrow restore --escrow-folder /mnt/escrow --identity-file escrow.txt --secrets kubernetes:home.kubeconfig`,
		Args: args(cobra.NoArgs),
	}
	form := outputFlag(cmd, output.FormatTable, output.FormatJSON, output.FormatYAML, output.FormatMarkdown)
	f := addEscrow(cmd, built)
	f.addSecrets(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if f.identity == "" {
			return &usageError{errors.New("missing --identity-file: the file with an age identity that decrypts the escrow")}
		}
		e, err := f.open(cmd)
		if err != nil {
			return err
		}
		store, closeStore, err := openStore(cmd, f.sourceFlags, true)
		if err != nil {
			return err
		}
		defer closeStore()
		done, restoreErr := e.Restore(cmd.Context(), store)
		t := output.Table{Header: []string{"SECRET", "RESULT"}}
		for _, r := range done {
			t.Add(r.Name, r.Result)
		}
		if err := t.Write(cmd.OutOrStdout(), output.Format(*form), done); err != nil {
			return err
		}
		if problems := e.Problems(); len(problems) > 0 {
			restoreErr = errors.Join(restoreErr, fmt.Errorf("not restored, %s", strings.Join(problems, "; ")))
		}
		return restoreErr
	}
	return cmd
}

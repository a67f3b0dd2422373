package cli

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fairlead.dev/agent/console/output"
	"fairlead.dev/agent/secrets"
	"fairlead.dev/agent/wiring"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile"
)

func newSecrets(built wiring.Built) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "secrets",
		GroupID: groupSecrets,
		Short:   "Manage secrets in the agent's secret store",
		Long: `Manage secrets in the agent's secret store, such as credentials of a cloud, and print the
recipient for encrypted files in Git. Use the same --source or --secrets as the agent.
See docs/guides/fleet/secrets.md.`,
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newSecretsRecipient(built), newSecretsSet(built), newSecretsGet(built), newSecretsList(built), newSecretsDelete(built), newEscrow(built))
	return cmd
}

// openStore opens the secret store of f, and returns what closes it. Of a store that
// several fleets use it opens the part of the fleet of f.
func openStore(cmd *cobra.Command, f *sourceFlags, mayMake bool) (secrets.Store, func(), error) {
	s := f.from(nil, quiet(cmd.ErrOrStderr()))
	store, err := s.OpenSecrets(cmd.Context(), modeOf(mayMake))
	if err != nil {
		return nil, nil, err
	}
	closeStore := func() {
		if c, ok := store.(io.Closer); ok {
			_ = c.Close()
		}
	}
	if _, shared := store.(reconcile.SharedStore); !shared || f.settings.Source == "" {
		return store, closeStore, nil
	}
	loaded, err := wholeOf(s).load(cmd.Context(), wiring.RenderOptions{})
	if err != nil {
		closeStore()
		return nil, nil, fmt.Errorf("cannot determine the fleet of the secrets: %w", err)
	}
	return secrets.OfFleet(store, loaded.ID), closeStore, nil
}

func newSecretsRecipient(built wiring.Built) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "recipient",
		Short: "Print the age recipient for encrypting files in Git",
		Long: `Print the age recipient of the secret store, for encrypting files in Git with sops. If
there are several identities, it is that of the first. The command creates the store if
it does not exist.`,
		Example: `  fairlead secrets recipient --source ./fleet
  sops encrypt --in-place --age "$(fairlead secrets recipient)" --encrypted-regex '^(data|stringData)$' secret.yaml`,
		Args: args(cobra.NoArgs),
	}
	f := addSource(cmd, built)
	f.addSecrets(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		store, closeStore, err := openStore(cmd, f, true)
		if err != nil {
			return err
		}
		defer closeStore()
		ageStore, ok := store.(interface{ Recipient() string })
		if !ok {
			return errors.New("a secret store in Kubernetes has no age identity: create one with age-keygen, and set --age-identity-file of the agent")
		}
		fmt.Fprintln(cmd.OutOrStdout(), ageStore.Recipient())
		return nil
	}
	return cmd
}

func newSecretsSet(built wiring.Built) *cobra.Command {
	var files []string
	cmd := &cobra.Command{
		Use:   "set NAMESPACE/NAME --from-file [KEY=]FILE…",
		Short: "Store a Secret",
		Long: `Store a Secret with the content of files. It replaces a stored Secret of that name.
The default key is the name of the file; FILE can be - for standard input.

In a store in Kubernetes, which several fleets can share, the Secret belongs to the
fleet of --source. Without --source, every fleet of the store can use it.`,
		Example: `  fairlead secrets set prod/cloud-config --from-file clouds.yaml --from-file cacert=ca.pem
  pass show openstack | fairlead secrets set prod/cloud-config --from-file clouds.yaml=-`,
		Args: args(cobra.ExactArgs(1)),
	}
	f := addSource(cmd, built)
	f.addSecrets(cmd)
	cmd.Flags().StringArrayVar(&files, "from-file", nil, "file with the value of a key, FILE or KEY=FILE; may be repeated")
	cmd.RunE = func(cmd *cobra.Command, argv []string) error {
		k, err := fleet.ParseKey(argv[0])
		if err != nil {
			return &usageError{err}
		}
		data, err := readFiles(cmd.InOrStdin(), files)
		if err != nil {
			return err
		}
		store, closeStore, err := openStore(cmd, f, true)
		if err != nil {
			return err
		}
		defer closeStore()
		return store.SetSecret(cmd.Context(), k, data)
	}
	return cmd
}

// readFiles reads files that are given as FILE or KEY=FILE.
func readFiles(in io.Reader, files []string) (fleet.SecretData, error) {
	if len(files) == 0 {
		return nil, &usageError{errors.New("missing --from-file")}
	}
	data := fleet.SecretData{}
	for _, text := range files {
		key, file, ok := strings.Cut(text, "=")
		if !ok {
			key, file = filepath.Base(text), text
		}
		if key == "" || key == "-" || file == "" {
			return nil, &usageError{fmt.Errorf("invalid --from-file %q: must be FILE or KEY=FILE", text)}
		}
		if _, twice := data[key]; twice {
			return nil, &usageError{fmt.Errorf("key %s is set twice", key)}
		}
		var content []byte
		var err error
		if file == "-" {
			content, err = io.ReadAll(in)
		} else {
			content, err = os.ReadFile(file)
		}
		if err != nil {
			return nil, fmt.Errorf("cannot read the value of %s: %w", key, err)
		}
		data[key] = fleet.NewSecret(content)
	}
	return data, nil
}

func newSecretsGet(built wiring.Built) *cobra.Command {
	var show bool
	var only string
	cmd := &cobra.Command{
		Use:   "get NAMESPACE/NAME",
		Short: "Show a Secret",
		Long: `Show the keys of a Secret and the lengths of their values. --show prints the values;
--show with --key prints one value unchanged.`,
		Example: `  fairlead secrets get prod/cloud-config
  fairlead secrets get prod/cloud-config --show --key clouds.yaml > clouds.yaml`,
		Args: args(cobra.ExactArgs(1)),
	}
	form := outputFlag(cmd, output.FormatTable, output.FormatJSON, output.FormatYAML, output.FormatMarkdown)
	f := addSource(cmd, built)
	f.addSecrets(cmd)
	cmd.Flags().BoolVar(&show, "show", false, "show the values")
	confirms(cmd, "show")
	cmd.Flags().StringVar(&only, "key", "", "only this key")
	cmd.RunE = func(cmd *cobra.Command, argv []string) error {
		k, err := fleet.ParseKey(argv[0])
		if err != nil {
			return &usageError{err}
		}
		store, closeStore, err := openStore(cmd, f, false)
		if err != nil {
			return err
		}
		defer closeStore()
		data, err := store.GetSecret(cmd.Context(), k)
		if err != nil {
			return err
		}
		if only != "" {
			value, ok := data[only]
			if !ok {
				return fmt.Errorf("the Secret %s has no key %q; it has %s", k, only, strings.Join(slices.Sorted(maps.Keys(data)), ", "))
			}
			if show {
				_, err := output.Exact(cmd.OutOrStdout()).Write(value.Reveal())
				return err
			}
			data = fleet.SecretData{only: value}
		}
		return showSecret(cmd.OutOrStdout(), output.Format(*form), data, show)
	}
	return cmd
}

// secretValue is one printed key.
type secretValue struct {
	Key   string `json:"key"`
	Bytes int    `json:"bytes"`
	Value string `json:"value,omitempty"`
}

func showSecret(w io.Writer, form output.Format, data fleet.SecretData, show bool) error {
	t := output.Table{Header: []string{"KEY", "BYTES"}}
	if show {
		t.Header = append(t.Header, "VALUE")
	}
	values := []secretValue{}
	for _, key := range slices.Sorted(maps.Keys(data)) {
		v := secretValue{Key: key, Bytes: len(data[key].Reveal())}
		row := []string{v.Key, fmt.Sprint(v.Bytes)}
		if show {
			v.Value = string(data[key].Reveal())
			row = append(row, fmt.Sprintf("%q", v.Value))
		}
		t.Add(row...)
		values = append(values, v)
	}
	return t.Write(output.Exact(w), form, values)
}

func newSecretsList(built wiring.Built) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List Secrets",
		Args:  args(cobra.NoArgs),
	}
	form := outputFlag(cmd, output.FormatTable, output.FormatJSON, output.FormatYAML, output.FormatMarkdown)
	f := addSource(cmd, built)
	f.addSecrets(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		store, closeStore, err := openStore(cmd, f, false)
		if err != nil {
			return err
		}
		defer closeStore()
		keys, err := store.ListSecrets(cmd.Context())
		if err != nil {
			return err
		}
		if len(keys) == 0 {
			if err := f.storeExists(cmd); err != nil {
				return err
			}
		}
		t, names := output.Table{Header: []string{"NAMESPACE", "NAME"}}, []string{}
		for _, k := range keys {
			t.Add(k.Namespace, k.Name)
			names = append(names, k.String())
		}
		return t.Write(cmd.OutOrStdout(), output.Format(*form), names)
	}
	return cmd
}

// storeExists returns an error if the secret store of f does not exist.
func (f *sourceFlags) storeExists(cmd *cobra.Command) error {
	store, exists, err := f.from(nil, quiet(cmd.ErrOrStderr())).SecretStore()
	if err == nil && !exists {
		err = fmt.Errorf("secret store %s does not exist. Set --source or --secrets as for the agent", store)
	}
	return err
}

func newSecretsDelete(built wiring.Built) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "delete NAMESPACE/NAME",
		Short: "Delete a Secret",
		Args:  args(cobra.ExactArgs(1)),
	}
	f := addSource(cmd, built)
	f.addSecrets(cmd)
	cmd.RunE = func(cmd *cobra.Command, argv []string) error {
		k, err := fleet.ParseKey(argv[0])
		if err != nil {
			return &usageError{err}
		}
		store, closeStore, err := openStore(cmd, f, false)
		if err != nil {
			return err
		}
		defer closeStore()
		return store.DeleteSecret(cmd.Context(), k)
	}
	return cmd
}
